// Outputs that a judge of the calling program judges (Check::judge).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// True for outputs that are compared with no reference.
bool is_judged_by_host(const Tensor& tensor);
// True for tasks that have one.
bool has_host_judge(const Task& task);

// Asks the judge of output `tensor`, whose words it returns; "": the output is right. `bytes`: the
// storage of each tensor of the task in order, inputs as they were and outputs as they were left.
Result<std::string> host_judgement(const Task& task, std::size_t tensor, const Workload& workload,
                                   std::span<const std::span<const std::byte>> bytes);

}  // namespace cupilot
