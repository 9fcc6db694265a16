#include "task/host_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

namespace cupilot {

bool is_judged_by_host(const Tensor& tensor) {
  return tensor.role == Role::out && tensor.check.kind == CheckKind::custom;
}

bool has_host_judge(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), is_judged_by_host);
}

Result<std::string> host_judgement(const Task& task, std::size_t tensor, const Workload& workload,
                                   std::span<const std::span<const std::byte>> bytes) {
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    auto shape = shape_of(task, task.tensors[i], workload);
    if (!shape) return shape.error();
    views.push_back({task.tensors[i].name, std::move(*shape), bytes[i]});
  }
  const Tensor& output = task.tensors.at(tensor);
  const auto says = [&](const std::string& reason) {
    return fmt::format("{} says of {}: {}", output.check.of, output.name, reason);
  };
  try {
    const std::string reason = output.check.judge(workload, views);
    return reason.empty() ? reason : says(reason);
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::usage, says(fmt::format("an exception: {}", thrown.what())),
                 "a judge answers a reason, and throws nothing"};
  } catch (...) {
    return Error{ErrorCode::usage, says("an exception of a type of its own"),
                 "a judge answers a reason, and throws nothing"};
  }
}

}  // namespace cupilot
