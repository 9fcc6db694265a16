// The library's call for a graph: a product, then perhaps a bias, then perhaps an activation that
// the library has as an epilogue.
#pragma once

#include <span>
#include <vector>

#include <cupilot/parts/library_call.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/wire/orders.hpp"

namespace cupilot {

// `tensors` are the regions in task order. Rejected{measure.failed} says why there is none.
Attempt<LibraryOrder> graph_library_order(std::span<const LibraryCall> calls, const Task& task,
                                          const Workload& workload,
                                          const std::vector<Region>& tensors);

}  // namespace cupilot
