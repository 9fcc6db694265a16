// Language models in the seats of strategist and writer, beside the built-in ones: they share one
// population.
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

struct SeatOptions {
  double share =
      0.5;  // of slots whose strategy a model proposes; where no template serves the task, of all
  int initial = 8;          // strategies asked for in the first question
  std::string statement{};  // mathematics or program text that says what the task computes, for the
                            // first kernel
  bool prose = true;        // the model rewrites the reason of a strategy that alignment changed
};

// Who is asked, about what. All must outlive what is made from it.
struct ModelSeat {
  ChatClient* client = nullptr;
  const Task* task = nullptr;
  const DeviceSpec* device = nullptr;
  SeatOptions options{};
  bool alignment = true;  // SearchFeatures's
  bool code_crossover =
      false;  // SearchFeatures's: instead of strategies, the texts of two parents are crossed
  // TellStatus when the endpoint falls silent or the budget ends, and when it answers again. By the
  // strategist's thread.
  std::function<void(const std::string&)> notice{};
};

// Proposes for its share of the slots by asking the model, for all others `built_in`. A model that
// fails is asked again in the next generation; until then `built_in` proposes for all.
// Deterministic in (brief, rng, answers). The proposals' feasible part lies in brief.space;
// free-form techniques stand beside it, named `free`.
std::unique_ptr<Strategist> model_strategist(ModelSeat seat, Strategist& built_in);

// Lets `templates` write what they realise. For all else the model writes a whole file from the
// nearest kernel that is there, mends refused ones, and realised() drops claims without trace and
// adds what the PTX shows.
std::unique_ptr<KernelWriter> model_writer(ModelSeat seat, KernelWriter& templates);

// A space of every technique of the catalogue and of `techniques`, for a task that no template
// serves: only a model or a host's own writer can write its kernels.
Result<std::unique_ptr<Space>> free_space(const Task& task,
                                          const std::vector<Technique>& techniques = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
