// task_scope() without its copies, for those who ask at once.
#pragma once

#include <optional>
#include <string_view>

#include <cupilot/task.hpp>

namespace cupilot {

// Returns the number that task_scope() has for the name.
std::optional<std::int64_t> task_number(const Task& task, const Workload& workload,
                                        std::string_view name);

// Answers as task_scope() does, for as long as both arguments live.
ExprScope borrowed_scope(const Task& task, const Workload& workload);

}  // namespace cupilot
