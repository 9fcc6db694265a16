// Models in both seats of a search on a simulated machine, behind its endpoint, and what their tape
// must show.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/model_agents.hpp>
#include <cupilot/parts/models.hpp>

#include "endurance/sim_device.hpp"
#include "endurance/sim_endpoint.hpp"
#include "evolution/run/context.hpp"
#include "evolution/run/timely_chat.hpp"

namespace cupilot::testing {

inline constexpr const char* sim_tape = "run/tape.jsonl";

// Of one sitting; it must outlive it.
class SimModels {
 public:
  // `max_seconds`: of the sitting, from now on, after which no question is waited for; 0: no end.
  static Result<std::unique_ptr<SimModels>> seat(SimHost& host, SimDevice& device,
                                                 SimEndpoint& endpoint, const ModelBudget& budget,
                                                 double max_seconds);
  Strategist* strategist() { return strategist_.get(); }
  KernelWriter* writer() { return writer_.get(); }

 private:
  SimModels() = default;
  Task task_;
  SearchComponents components_;
  std::unique_ptr<ChatClient> client_;
  std::unique_ptr<TimelyChat> chat_;
  std::unique_ptr<Strategist> strategist_;
  std::unique_ptr<KernelWriter> writer_;
};

struct TapeLook {
  // Unreadable, less than the endpoint's bill, a bill over the budget, or a question asked twice.
  std::vector<std::string> faults;
  std::int64_t silences = 0;  // questions to the strategist that were given up
};
// As the tape lies on the disk.
TapeLook look_at_tape(SimHost& host, const SimEndpoint& endpoint, const ModelBudget& budget);

}  // namespace cupilot::testing
