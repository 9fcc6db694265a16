// A kernel of the user's own: its text, launch plan and task, from the file's header or from flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

struct OwnKernel {
  std::string path;
  KernelSource source;
  std::optional<Task> task{};  // nullopt: none stated
  int header_lines = 0;        // `// cupilot:` lines of the file, which the kernel's text lacks
};

// Flags win over the file's header comment.
Result<OwnKernel> open_kernel(const std::string& path, const KernelFlags& flags);

}  // namespace cupilot::cli
