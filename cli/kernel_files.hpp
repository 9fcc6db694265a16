// A kernel of the user's own: its text, launch plan and task, from the file's header or from flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

struct OwnKernel {
  std::string path;
  KernelSource source;
  std::optional<Task> task{};  // nullopt: none stated
  std::string text{};          // the file's own part of the source, with its includes as written
  // Lines that the kernel's text begins below the file's first: by its `// cupilot:` lines; of a
  // tunable, whose text stands below one that was written, less than 0.
  int header_lines = 0;
  int first_line = 1;  // of the file's own text
};

// Flags win over the file's header comment. A tunable becomes the kernel that it is on `device` at
// the values of `--set`, a strategy the kernel or program that the task's templates write.
Result<OwnKernel> open_kernel(const std::string& path, const KernelFlags& flags,
                              const DeviceSpec& device);

}  // namespace cupilot::cli
