// A device that hands back what a kernel left, for judging parts of a program on what they really
// got.
#pragma once

#include <cstddef>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

class ObservingDevice {
 public:
  virtual ~ObservingDevice() = default;
  // Runs one case as Device::run does. `left`: each tensor's storage after the first run; empty
  // where the kernel did not end. Any thread.
  virtual Result<CaseReport> observe(const TaskRef& task, const CompiledKernel& kernel,
                                     const Case& what,
                                     std::vector<std::vector<std::byte>>& left) = 0;
};

}  // namespace cupilot
