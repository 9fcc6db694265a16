#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <cupilot/parts/agents.hpp>

#include "agents/propose/tunable_skeleton.hpp"
#include "predict/estimate.hpp"
#include "strategy/build_space.hpp"

namespace cupilot {
namespace {

Error nothing_serves(const Task& task, const std::vector<Tunable>& tunables) {
  std::string refused;
  for (const Tunable& tunable : tunables) {
    if (tunable.family == task.family) refused += (refused.empty() ? "" : ", ") + tunable.name;
  }
  std::string message = fmt::format(
      "task {}: there is neither a tunable nor a model for family '{}'", task.name, task.family);
  if (!refused.empty())
    message += fmt::format(" at precision {} (not for it: {})", name_of(task.precision), refused);
  return {
      ErrorCode::usage, std::move(message),
      "give a tunable .cu of this family (docs/formats/tunable.md), or a model to write kernels"};
}

// Drops the tunables whose least modelled time another's undercuts by far.
void drop_hopeless(std::vector<const Tunable*>& serving, const Task& task,
                   const DeviceSpec& device) {
  std::vector<std::optional<double>> times;
  for (const Tunable* tunable : serving) times.push_back(least_time(*tunable, task, device));
  std::optional<double> least;
  for (const auto& time : times) {
    if (time) least = std::min(least.value_or(*time), *time);
  }
  std::vector<const Tunable*> kept;
  for (std::size_t i = 0; i < serving.size(); ++i) {
    if (!times[i] || *times[i] <= most_bearable_us(*least)) kept.push_back(serving[i]);
  }
  serving = std::move(kept);
}

}  // namespace

Result<std::unique_ptr<Space>> make_space(const Task& task, const DeviceSpec& device,
                                          const std::vector<Tunable>& tunables,
                                          const std::vector<Technique>& techniques) {
  SpaceModel model;
  model.techniques.assign(catalogue().begin(), catalogue().end());
  model.techniques.insert(model.techniques.end(), techniques.begin(), techniques.end());
  std::vector<const Tunable*> serving;
  for (const Tunable& tunable : tunables) {
    if (!serves(tunable, task)) continue;
    serving.push_back(&tunable);
    for (Technique& row : own_techniques(tunable, model.techniques))
      model.techniques.push_back(std::move(row));
  }
  if (serving.empty()) return nothing_serves(task, tunables);
  drop_hopeless(serving, task, device);
  const TaskRef shared(task);
  for (const Tunable* tunable : serving)
    model.skeletons.push_back(tunable_skeleton(*tunable, shared, device, model.techniques));
  Result<std::unique_ptr<Space>> space = build_space(std::move(model));
  if (!space)
    return std::move(space.error())
        .while_doing(fmt::format("strategies for task {} on {}", task.name, device.name));
  return space;
}

}  // namespace cupilot
