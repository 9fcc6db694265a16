// Which cuBLASLt product is a gemm task's library baseline.
#pragma once

#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/wire/orders.hpp"

namespace cupilot {

// Row-major D = op(A) op(B) is column-major D' = op(B)' op(A)': operands swapped. `tensors` are the
// regions in task order. Rejected{measure.failed} when the library has no such product: another
// family, another activation, another class.
Attempt<LibraryOrder> library_order(const Task& task, const Workload& workload,
                                    const std::vector<Region>& tensors);

}  // namespace cupilot
