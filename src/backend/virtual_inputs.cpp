#include "backend/virtual_inputs.hpp"

#include <fmt/format.h>

#include "task/content.hpp"

namespace cupilot {

std::string case_key(const std::string& task, const Workload& workload, const Content& content) {
  std::string key =
      fmt::format("{}:{}:{}:{}", task, content.seed, static_cast<int>(content.kind), static_cast<int>(content.variation));
  for (const auto& [axis, extent] : workload.sizes) key += fmt::format(":{}={}", axis, extent);
  return key;
}

Result<std::shared_ptr<const TensorBytes>> VirtualInputs::get(const Task& task, const std::string& id, std::size_t tensor,
                                                              const Workload& workload, const Content& content) {
  const auto make = [&]() -> Result<TensorBytes> {
    Result<FillParams> params = fill_params(task, tensor, workload, content);
    if (!params) return params.error();
    TensorBytes bytes(static_cast<std::size_t>(params->span) * static_cast<std::size_t>(size_of(task.tensors[tensor].type)));
    fill(*params, bytes);
    return bytes;
  };
  return cache_.get(fmt::format("{}:{}", tensor, case_key(id, workload, content)), make,
                    [](const TensorBytes& bytes) { return static_cast<std::int64_t>(bytes.size()); });
}

}  // namespace cupilot
