#include "backend/virtual/read_share.hpp"

#include <utility>

#include <cupilot/task.hpp>

namespace cupilot {

Result<ReadShare> ReadShare::of(const Task& task, const Workload& workload, VirtualMemory& memory) {
  ReadShare share;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    const Tensor& tensor = task.tensors[i];
    const auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    bytes += shape->elements * size_of(tensor.type) * (tensor.role == Role::in_out ? 2 : 1);
    const bool read = tensor.role == Role::in && memory.tensor(i) != no_buffer;
    if (read && memory.device()[memory.tensor(i)].later != nullptr)
      share.inputs_.push_back({tensor.name, memory.tensor(i), 0});
  }
  const auto needed = compulsory_bytes(task, workload);
  if (!needed || *needed < bytes) share.inputs_.clear();
  return share;
}

double ReadShare::take(std::size_t input, VirtualMemory& memory) {
  Input& one = inputs_[input];
  const ptx::Buffer::Later& later = *memory.device()[one.buffer].later;
  const std::uint64_t before = std::exchange(one.taken, later.pieces);
  return static_cast<double>(later.pieces - before) / static_cast<double>(later.made.size());
}

double ReadShare::reached(std::size_t input, VirtualMemory& memory) const {
  const ptx::Buffer::Later& later = *memory.device()[inputs_[input].buffer].later;
  return static_cast<double>(later.end) / static_cast<double>(later.made.size());
}

}  // namespace cupilot
