// From command-line words to a task.
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot::cli {

// {"gemm", "m=512", …} or {"path/to/task.json"}.
Result<Task> task_from_words(const std::vector<std::string>& words);

}  // namespace cupilot::cli
