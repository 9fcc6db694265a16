// Which library call is a task's baseline: the data of its family (LibraryCall) at one workload.
#pragma once

#include <span>
#include <vector>

#include <cupilot/parts/library_call.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/wire/orders.hpp"

namespace cupilot {

// The first call that computes tasks of this family; null: none does.
const LibraryCall* find_library_call(std::span<const LibraryCall> calls, const Task& task);

// Row-major D = op(A) op(B) is column-major D' = op(B)' op(A)': operands swapped. `tensors` are the
// regions in task order. Rejected{measure.failed} when the library has no such product: no call
// (null), another activation, another class.
Attempt<LibraryOrder> library_order(const LibraryCall* call, const Task& task,
                                    const Workload& workload, const std::vector<Region>& tensors);

}  // namespace cupilot
