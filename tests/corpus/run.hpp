// Runs kernels of the corpus on the virtual device and holds their outputs to the host's
// references.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/reference_values.hpp"
#include "kernel.hpp"

namespace cupilot::coverage {

// A chip and the compiler for it. Thread-safe.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> open(const std::string& chip);

  // Through the gate. With cubin registers are known; ptxas refuses some kernels that lack an
  // ordering, then PTX alone will do.
  Attempt<CompiledKernel> compile(const KernelSource& source, bool ptx_only = false);

  // One line for each way in which the kernel is not right with `sizes` in place of its own, with
  // asynchronous copies early and late. Empty: right.
  std::vector<std::string> run(const CorpusKernel& kernel, const CompiledKernel& compiled,
                               const Sizes& sizes);

 private:
  Bench(DeviceSpec device, std::unique_ptr<CompilePool> pool);

  DeviceSpec device_;
  std::unique_ptr<CompilePool> pool_;
  VirtualInputs inputs_;
  VirtualOracle oracle_;
};

}  // namespace cupilot::coverage
