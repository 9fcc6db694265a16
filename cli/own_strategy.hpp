// A strategy's file, and the task that it is of.
#pragma once

#include <string>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// A strategy of one kernel has the nearest values that the task's templates can have at its sizes:
// one that was found at other sizes may ask for vectors that these do not fill, and a note says
// so. Programs, and strategies that no template realises, are left as they are.
struct OwnStrategy {
  Task task;
  Families families;
  Strategy strategy;
  // Holds the same with its numbers fitted to the task's sizes, what the models expect most of
  // first, where the file stands in best/ of a run at other sizes; none by KernelFlags::as_is.
  std::vector<Strategy> fitted{};
  std::string found_at{};  // those sizes
};
bool is_strategy(const std::string& path);
Result<OwnStrategy> open_strategy(const std::string& path, const KernelFlags& flags,
                                  const DeviceSpec& device);
// Notes which of them is taken.
void note_taken(const OwnStrategy& own, const Strategy& taken);

}  // namespace cupilot::cli
