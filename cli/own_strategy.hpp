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
  // The sizes of the run whose best/ holds the file, where these are others; "": it stands in none,
  // or KernelFlags::as_is.
  std::string found_at{};
  // Then, the same with its numbers fitted to the task's sizes, those that the models expect a gain
  // of, the most of first.
  std::vector<Strategy> fitted{};
};
bool is_strategy(const std::string& path);
Result<OwnStrategy> open_strategy(const std::string& path, const KernelFlags& flags,
                                  const DeviceSpec& device);
// The families with those templates alone that realise the strategy; with all where none does.
Families realising(const OwnStrategy& own, const DeviceSpec& device);
// Notes whether the strategy was fitted.
void note_taken(const OwnStrategy& own, const Strategy& taken);

}  // namespace cupilot::cli
