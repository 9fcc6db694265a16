// A resolved plan laid out in the interpreter's memory: tensors, buffers, and parameter blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/oracle/inputs.hpp"
#include "ptx/machine/device_memory.hpp"
#include "ptx/machine/execute.hpp"

namespace cupilot {

// Bytes that one trial on the virtual device may hold.
inline constexpr std::uint64_t virtual_memory_cap = 6ull << 30;

inline constexpr std::size_t no_buffer = static_cast<std::size_t>(-1);

// Adds `bytes` as a read-only buffer; its address, 0 when empty.
Result<std::uint64_t> add_input(ptx::DeviceMemory& memory, const std::string& name,
                                std::span<const std::byte> bytes);

// Small inputs of a sparse memory: `piecewise` tells what of them was read; `whole` is faster.
enum class SmallInputs { piecewise, whole };

// The memory of one case. Setup launches come first, while tensors hold poison; then
// fill_tensors(), then run launches.
class VirtualMemory {
 public:
  // All buffers exist; constants are filled, everything else holds poison and no tensor may be
  // written yet.
  static Result<VirtualMemory> make(const TaskRef& task, const Case& what, const ResolvedPlan& plan,
                                    VirtualInputs& inputs);

  // The memory of a case of any size, filled for its run launches: what is touched takes host
  // memory, and no poison tells outputs. nullopt: content that cannot be made piece by piece.
  static Result<std::optional<VirtualMemory>> sparse(const TaskRef& task, const Case& what,
                                                     const ResolvedPlan& plan,
                                                     VirtualInputs& inputs, SmallInputs small);

  // Inputs filled and read-only, outputs poisoned, tables read-only, scratch poisoned, zeroed and
  // restored buffers zero.
  Result<void> fill_tensors(VirtualInputs& inputs, Poison poison);

  // The launch's parameter block, laid out as the entry declares it.
  Result<std::vector<std::uint8_t>> parameters(const ResolvedLaunch& launch,
                                               const ptx::Function& entry) const;

  // The plan's textures and surfaces, in its order; handle_of(index) is the value of one.
  std::vector<ptx::TextureObject> textures() const;

  // A fault run.guard for each output with a changed byte that no element owns: the gaps of padded
  // strides.
  Result<std::vector<Fault>> written_gaps(VirtualInputs& inputs) const;

  // A fault run.state for each buffer promised restored that is not zero again.
  std::vector<Fault> changed_state() const;

  ptx::DeviceMemory& device() { return memory_; }
  // Index in device(), no_buffer when empty.
  std::size_t tensor(std::size_t index) const { return tensors_[index]; }
  // Index of what it held before the run, where that is kept.
  std::size_t original(std::size_t index) const {
    return originals_.empty() ? tensors_[index] : originals_[index];
  }

 private:
  VirtualMemory(const TaskRef& task, const Case& what, const ResolvedPlan& plan)
      : task_(task), what_(what), plan_(&plan), memory_(virtual_memory_cap) {}
  Result<void> add_tensor(std::size_t tensor);
  Result<bool> add_sparse_tensor(std::size_t tensor, VirtualInputs& inputs, SmallInputs small);
  void name_elements(std::size_t tensor, std::size_t buffer, TensorShape shape);
  Result<void> copy_content(std::size_t tensor, VirtualInputs& inputs);
  // Zeroes a buffer.
  void clear(std::size_t buffer);
  // Bytes of an argument as the kernel gets it.
  std::vector<std::uint8_t> value_of(const ResolvedArgument& argument) const;
  std::vector<std::uint8_t> encoded_map(std::size_t index) const;
  std::uint64_t address(std::size_t index) const {
    return index == no_buffer ? 0 : memory_.address(index);
  }

  TaskRef task_;
  Case what_;
  const ResolvedPlan* plan_;
  ptx::DeviceMemory memory_;
  std::vector<std::size_t> tensors_, buffers_;
  std::vector<std::size_t> originals_;  // sparse: of tensors that are read and written
};

}  // namespace cupilot
