// Language models as strategist and writer beside the built-in ones; they share one population.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cupilot/chat.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// A kernel of a similar task that an earlier run proved.
struct ProvedKernel {
  std::string kernel{};    // the file, its plan in front; "": there is none
  std::string computes{};  // the text of the reference that it was proved against
  std::string about{};     // words on its task, device and time
};

struct SeatOptions {
  // Share of slots whose strategy a model proposes; all slots where no template serves the task.
  double share = 0.5;
  // Strategies asked for in the first question; where no template serves the task evolve() raises
  // it to the slots of generation 0, at most 16.
  int initial = 8;
  int later = 2;  // in each later one; those left over wait for the next slots
  // Later questions that are asked at once, of other parents each. 0: as many as let the slots of a
  // lookahead wait for two answers in turn.
  int questions = 0;
  // Mathematics or program text that defines the task's computation, for the first kernel.
  std::string statement{};
  // Shown to whoever writes without a base. default: the nearest that the pool holds.
  ProvedKernel example{};
  bool prose = true;  // the model rewrites the rationale of a strategy that alignment changed
};

// The model and the task that it works on. All pointers must outlive the agents made from it.
struct ModelSeat {
  ChatClient* client = nullptr;
  TaskRef task{};
  const DeviceSpec* device = nullptr;
  SeatOptions options{};
  bool alone = false;     // no template serves the task: the model proposes for all slots
  bool alignment = true;  // as in SearchFeatures
  bool code_crossover =
      false;  // as in SearchFeatures: crosses the texts of two parents instead of their strategies
  // Called by the strategist's thread when the endpoint becomes unavailable or the budget ends, and
  // when it answers again.
  std::function<void(const std::string&)> notice{};
};

// Proposes for its share of the slots by asking the model, for all others `built_in`. A model that
// fails is asked again in the next generation; until then `built_in` proposes for all. A model that
// is alone ends the search with its error, and resume() asks it again.
// Deterministic in (brief, rng, answers). The proposals' feasible part lies in brief.space;
// free-form techniques named `free` come in addition.
std::unique_ptr<Strategist> model_strategist(ModelSeat seat, Strategist& built_in);

// Lets `templates` write the strategies that they realise. For all others the model writes a whole
// file from the nearest known kernel and repairs refused ones; realised() drops claims without
// trace in the PTX and adds techniques found there.
std::unique_ptr<KernelWriter> model_writer(ModelSeat seat, KernelWriter& templates);

// Makes a space of every technique of the catalogue and of `techniques`, for a task that no
// template serves: only a model or a host's own writer can write its kernels.
Result<std::unique_ptr<Space>> free_space(const Task& task,
                                          const std::vector<Technique>& techniques = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
