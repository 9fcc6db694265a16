// Predicts the time of a strategy's kernel before it is written or compiled. A prediction ranks
// candidates; it is never a result. Its model: docs/formats/time-model.md.
#pragma once

#include <span>
#include <vector>

#include <cupilot/parts/agents.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One strategy with its known time, for this task or another of its family at another shape.
struct KnownTime {
  const Strategy* strategy = nullptr;
  double time_us = 0;
  const Task* task = nullptr;  // default: the predicted task
};

// An analytic model of the templates, and a residual learnt from outcomes on top. Any thread;
// deterministic; below 1 ms a call. Returns nullopt for a strategy that no modelled template
// realises. An empty function: no prediction for this task.
CostModel make_cost_model(const Task& task, const DeviceSpec& device,
                          const std::vector<Tunable>& tunables,
                          std::span<const KnownTime> learnt = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
