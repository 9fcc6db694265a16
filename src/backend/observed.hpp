// A device that hands back what a kernel left, for judging parts of a program on what they really
// got, and a whole by what honest arithmetic errs; and that judges what others left.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The order in which an honest execution combines the terms of its folds.
enum class HonestOrder { blocks, in_turn, by_eights };

class ObservingDevice {
 public:
  virtual ~ObservingDevice() = default;
  // Runs one case as Device::run does. `left`: each tensor's storage after the first run; empty
  // where the kernel did not end. Any thread.
  virtual Result<CaseReport> observe(const TaskRef& task, const CompiledKernel& kernel,
                                     const Case& what,
                                     std::vector<std::vector<std::byte>>& left) = 0;
  // The task's reference in arithmetic of the contract's own type, over given storages: one a
  // tensor, those of pure outputs are not looked at. Each tensor's storage after it; empty where it
  // did not end. Any thread.
  virtual Result<std::vector<std::vector<std::byte>>> honest(
      const TaskRef& task, const Workload& workload,
      std::span<const std::vector<std::byte>> tensors, HonestOrder order) = 0;
  // Compares the outputs that something else made of the case's inputs, as run() does. `left`: each
  // tensor's storage; those of inputs are not looked at. Any thread.
  virtual Result<CaseReport> judge(const TaskRef& task, const Case& what,
                                   std::span<const std::vector<std::byte>> left) = 0;
};

}  // namespace cupilot
