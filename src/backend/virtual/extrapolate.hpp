// Counts at full size from whole runs at smaller workloads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/result.hpp>

#include "backend/virtual/run.hpp"
#include "ptx/machine/chain.hpp"

namespace cupilot {

// The launch plan of a kernel at any workload.
using PlanAt = std::function<Attempt<Resolution>(const Workload&)>;

// Two extents of one axis, both with the full extent's residue modulo the strategy's numbers.
struct AxisPair {
  std::string axis;
  std::int64_t low = 0, high = 0, full = 0;
};

// The axes that can be shrunk and between what: `tiles` steps and half as many more, one at least.
// `step` is what the residues are kept to; axes no longer than the upper extent stay as they are.
// Axes of `repeated` are counted at one unit and at two.
std::vector<AxisPair> shrunk_axes(const Task& task, const Workload& workload, std::int64_t step,
                                  std::int64_t tiles, const std::set<std::string>& repeated = {});
// The free axes alone, of a task whose reduced ones are shorter than a step each and make up longer
// rows together: a kernel keeps a part of a row and reads the rest again, of which one or two units
// of each axis tell nothing. Empty: others.
std::vector<AxisPair> whole_row_axes(const Task& task, const Workload& workload, std::int64_t step);

// Operations of a task that a warp instruction does, about: plain, and of warpgroups' products.
inline constexpr double plain_instruction_operations = 40, wgmma_instruction_operations = 400;

// A module with products of warpgroups.
bool has_wgmma(const ptx::Module& module);

// The least common multiple of the strategy's numbers as far as it stays at most 512, else the
// largest of them.
std::int64_t residue_step(const Constants& constants);

// The function that is linear in each axis and takes values[i] at corner i (bit a of i: axis a is
// high), at `sizes`.
double multilinear(const std::vector<AxisPair>& axes, const std::vector<double>& values,
                   const Sizes& sizes);

// True if whole runs at all corners of the box of `axes` are few enough warp instructions.
bool affordable_corners(const Task& task, const Workload& workload,
                        const std::vector<AxisPair>& axes, bool wgmma);

struct ExtrapolatedLaunch {
  Counts counts;
  ptx::Chain chain;          // of a whole run, maybe smaller
  double chain_times = 1;    // work of a block at the workload over its work there
  double waits_times = 1;    // the same of its waits, which its beginning and end do not repeat
  double last_requests = 0;  // of the block that arrives last, beyond those of another
  Sizes smallest{};          // of the workloads that it was counted at; empty: on another device
};

// Returns the chain of a launch of the counted kernel.
ptx::Chain chain_of_launch(const CompiledKernel& kernel, const KernelPrograms& programs,
                           const ResolvedLaunch& launch, const ptx::Report& report);

// Counts of each run launch at `workload` (whose plan is `plan`): fitted by multilinear() to exact
// runs at the corners of the box of `axes` and scaled by the known number of blocks. One more run,
// past the box, is held out; its relative residual, at least that scaling, is the interval.
// `longer`: times the usual warp instructions that a run may take.
// Rejected{measure.failed} when the runs are too long, do not fit the plan, or fault.
Attempt<std::vector<ExtrapolatedLaunch>> extrapolate_along(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const ResolvedPlan& plan,
    const Workload& workload, const std::vector<AxisPair>& axes, const Content& content,
    std::uint64_t longer = 1);

// Counts kernels of which every run launch has as many blocks as the device has SMs for, and each
// stays: few blocks of a small problem would have work at all. The problem counted is shorter on
// its free axes, on a device with as many fewer SMs, so that a block does the work it does on the
// whole one; the rest is in proportion. nullopt: blocks do not stay so, or it would take too long.
// fitted: other launches may come before it, batches are shrunk too, and what takes too long still
// is fitted along a free axis, at extents where as many blocks stay.
enum class Staying { whole, fitted };
std::optional<std::vector<ExtrapolatedLaunch>> count_staying(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const ResolvedPlan& plan, const Workload& workload, std::int64_t step,
    const Content& content, Staying how);

// By count_staying() where that can be, else along every axis that can be shrunk; where that fails
// or misses half of the task's operations, by count_staying() fitted.
Attempt<std::vector<ExtrapolatedLaunch>> extrapolate(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const ResolvedPlan& plan,
    const Workload& workload, const Content& content);

}  // namespace cupilot
