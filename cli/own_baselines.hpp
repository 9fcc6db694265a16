// Kernels of the user's own that a champion is timed against: kernel files and captured launches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// "captures/PROGRAM", or one launch of it: "captures/PROGRAM/launch-3".
struct CapturePath {
  std::string folder;
  std::int64_t launch = 0;  // 0: all of them
};
// nullopt: no capture is there.
std::optional<CapturePath> capture_path(const std::string& path);

// The launches of a capture that a path and --entry mean. Error not_done: there are none.
Result<std::vector<const CapturedLaunch*>> meant_launches(const Capture& capture,
                                                          const CapturePath& path,
                                                          const std::string& entry);

// Error usage: several launches are meant, and `why` says that one must be: it names them.
Error one_launch(const CapturePath& path, const std::vector<const CapturedLaunch*>& meant,
                 const std::string& why);

// Moves a capture that stands in the task's place among what the champion is timed against, and the
// words of --task to the task. Error usage: they do not fit.
Result<void> sort_words(EvolveFlags& flags);

// The contestants' names of --against, and the kernels of its other words.
struct Against {
  std::vector<std::string> contestants;
  std::vector<OwnBaseline> own;
};
Result<Against> open_against(const EvolveFlags& flags, const Task& task, const DeviceSpec& device);

}  // namespace cupilot::cli
