// A strategy's file, and the task that it is of.
#pragma once

#include <string>

#include <cupilot/family.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// A strategy of one kernel has the nearest values that the task's templates can have at its sizes:
// one that was found at other sizes may ask for vectors that these do not fill. Where the file
// stands in best/ of a run at other sizes, its numbers are fitted to the task's unless
// KernelFlags::as_is. A note says either. Programs, and strategies that no template realises, are
// left as they are.
struct OwnStrategy {
  Task task;
  Families families;
  Strategy strategy;
};
bool is_strategy(const std::string& path);
Result<OwnStrategy> open_strategy(const std::string& path, const KernelFlags& flags,
                                  const DeviceSpec& device);

}  // namespace cupilot::cli
