// task_scope() without its copies, for those who ask at once.
#pragma once

#include <cupilot/task.hpp>

namespace cupilot {

// Answers as task_scope() does, for as long as both arguments live.
ExprScope borrowed_scope(const Task& task, const Workload& workload);

}  // namespace cupilot
