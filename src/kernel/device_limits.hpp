// Limits of a device on a template's launches at any size: threads, shared memory, estimated
// registers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/plan_program.hpp"

namespace cupilot {

// The first limit that is passed. `number`: of an expression, nullopt where it needs a size.
std::optional<std::string> broken_limit(
    const Tunable& tunable, const DeviceSpec& device,
    const std::function<std::optional<std::int64_t>(const Expr&)>& number);

// Answers the question again and again. The tunable and the device must outlive it.
class DeviceLimits {
 public:
  DeviceLimits(const Tunable& tunable, const Task& task, const DeviceSpec& device);
  // Takes the tunable's constants in their order.
  bool allow(std::span<const std::int64_t> constants) const;

 private:
  const Tunable& tunable_;
  const DeviceSpec& device_;
  PlanProgram program_;
  std::vector<std::pair<const Expr*, int>> asked_;
};

}  // namespace cupilot
