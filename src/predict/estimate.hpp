// What a tunable's author expects a setting to cost: the definition named `cost` in its plan, in a
// unit that the tunables of a family share, from waves of tiles and what feeds them. It prunes
// before anything is compiled; only a device says which of the rest is fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "kernel/plan_program.hpp"

namespace cupilot {

// Settings that an estimate puts this far above the cheapest are not tried.
inline constexpr double hopeless = 1.08;

bool has_estimate(const Tunable& tunable);

// Of a tunable that has one, made ready to be asked often; any thread.
class CostEstimate {
 public:
  CostEstimate(const Tunable& tunable, const Task& task, const DeviceSpec& device);
  // `values`: one a parameter of the tunable. The weighted sum over the timed shapes; nothing where
  // the definition has no value there.
  std::optional<double> at(std::span<const std::int64_t> values) const;

 private:
  struct AtShape {
    PlanProgram program;
    int cost = 0;
    double weight = 1;
  };
  std::vector<AtShape> shapes_;
};

// The least that legal settings were found to cost: drawn ones, the best of them improved a
// parameter at a time.
std::optional<double> least_cost(const Tunable& tunable, const Task& task,
                                 const DeviceSpec& device);

}  // namespace cupilot
