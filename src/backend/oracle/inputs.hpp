// Input content on the host, made from its recipe once and shared by all kernels of a task.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/oracle/cache.hpp"

namespace cupilot {

// A tensor's whole storage, span * size bytes; gaps between strides are zero.
using TensorBytes = std::vector<std::byte>;

// "task:sizes:content", what cached values of a case are keyed by.
std::string case_key(const std::string& task, const Workload& workload, const Content& content);
// "task:sizes:digest" of given storages instead of content.
std::string given_key(const std::string& task, const Workload& workload,
                      std::span<const TensorBytes> tensors);

class VirtualInputs {
 public:
  explicit VirtualInputs(std::int64_t cap) : cache_(cap) {}
  // Any thread.
  Result<std::shared_ptr<const TensorBytes>> get(const TaskRef& task, std::size_t tensor,
                                                 const Workload& workload, const Content& content);
  void clear() { cache_.clear(); }

 private:
  ByteCache<TensorBytes> cache_;
};

}  // namespace cupilot
