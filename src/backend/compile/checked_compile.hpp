// From a source text to an admitted kernel: source caps, sandboxed compile, PTX gate, facts.
#pragma once

#include <optional>
#include <string>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "backend/compile/pool.hpp"
#include "ptx/gate/gate.hpp"

namespace cupilot {

struct CompileMode {
  bool ptx_only = false;  // no assembling: no registers, spills or cubin
  bool anew = false;      // whatever was kept
  ptx::Whose whose = ptx::Whose::candidate;
  bool leave_others_out = false;  // kernels that the plan does not name; the image is left out too
  bool assembles = false;         // PTX too, for a device that loads images
};

// Everything that can be refused without a task. A source in PTX is gated as it stands and has a
// cubin where `assembles` asks for it. What needs the task is left to check_contract() and
// resolve().
Attempt<CompiledKernel> compile_and_check(CompilePool& pool, const KernelSource& source,
                                          const std::string& arch, CompileMode mode = {});

// Rejected{gate.precision} when the kernel's arithmetic cannot satisfy the task's class. Argument
// sizes and launch bounds at a workload are resolve()'s to check.
std::optional<Rejected> check_contract(const CompiledKernel& kernel, const Task& task);

}  // namespace cupilot
