// How long a strategy's kernel is expected to take, before it is written or compiled. A forecast
// ranks what to try next; it is never a result. docs/formats/time-model.md says what it stands on.
#pragma once

#include <span>
#include <vector>

#include <cupilot/parts/agents.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// One strategy and the time it turned out to take, for this task or another of its family at
// another shape.
struct KnownTime {
  const Strategy* strategy = nullptr;
  double time_us = 0;
  const Task* task = nullptr;  // null: the forecast's own
};

// An analytic model of the templates, and a residual learnt from outcomes on top. Any thread;
// deterministic; below 1 ms a call. It has nothing to say of a strategy that no modelled template
// realises. An empty function: of none for this task.
CostModel make_cost_model(const Task& task, const DeviceSpec& device,
                          const std::vector<Tunable>& tunables,
                          std::span<const KnownTime> learnt = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
