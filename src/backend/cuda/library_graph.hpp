// The library's call that is a task's baseline.
#pragma once

#include <span>
#include <vector>

#include <cupilot/parts/library_call.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/cuda/trials.hpp"
#include "backend/wire/orders.hpp"

namespace cupilot {

// cuBLASLt's call for a task of a family or a graph, cuDNN's for a convolution. Rejected
// {measure.failed} says why there is none.
Attempt<StepOrder> baseline_order(std::span<const LibraryCall> calls, const Task& task,
                                  const Workload& workload, const DeviceSpec& device,
                                  const TaskPlacement& placement);

// The call for a graph: a product, then perhaps a bias, then perhaps an activation that the library
// has as an epilogue. `tensors` are the regions in task order. Rejected as above.
Attempt<LibraryOrder> graph_library_order(std::span<const LibraryCall> calls, const Task& task,
                                          const Workload& workload,
                                          const std::vector<Region>& tensors);

}  // namespace cupilot
