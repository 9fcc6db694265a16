#include "backend/virtual/fitted_rereads.hpp"

#include <algorithm>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/sampled.hpp"
#include "backend/virtual/traffic.hpp"

namespace cupilot {
namespace {

bool runs_apart(const KernelPrograms& programs, const CompiledKernel& kernel,
                const ResolvedLaunch& launch) {
  const auto seen = dependence_of(kernel, programs, launch);
  return seen && !seen->waits && !seen->tickets;
}

// Returns how many times more of each line `sizes` has than `smaller`.
double longer(const Task& task, const Sizes& sizes, const Sizes& smaller) {
  double times = 1;
  for (const Axis& axis : task.axes) {
    const auto full = sizes.find(axis.name), few = smaller.find(axis.name);
    if (axis.kind == AxisKind::reduced && full != sizes.end() && few != smaller.end())
      times *= static_cast<double>(full->second) / static_cast<double>(few->second);
  }
  return times;
}

}  // namespace

Attempt<bool> FittedPlan::put_rereads(std::size_t l, const Sizes& smaller,
                                      ModelInput& input) const {
  const ResolvedLaunch& launch = plan.launches[l];
  const Result<bool> beyond =
      rereads_beyond_l2(context.device, *task, workload, plan, launch, input.counts);
  if (!beyond) return beyond.error();
  if (!*beyond || !runs_apart(programs, kernel, launch)) return false;
  const Workload at{smaller, 1};
  const Attempt<Resolution> resolution = plan_at(at);
  const ResolvedPlan* small = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (small == nullptr || small->launches.size() != plan.launches.size()) return false;
  if (std::any_of(small->launches.begin(), small->launches.end(),
                  [](const ResolvedLaunch& one) { return one.when == When::setup; }))
    return false;
  Result<VirtualMemory> memory =
      VirtualMemory::make(task, {.workload = at, .content = content}, *small, context.inputs);
  if (!memory) return false;
  if (Result<void> filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
    return filled.error();
  const Attempt<SideBySide> seen =
      loads_side_by_side(context, kernel, programs, *memory, small->launches[l]);
  if (!seen) return seen.failure();
  if (!(seen->loaded_bytes > 0)) return false;
  const Result<double> read = readable_bytes(*task, at, *small, small->launches[l]);
  if (!read) return read.error();
  ModelInput few;
  take_rereads(*seen, *read, static_cast<double>(block_count(small->launches[l])), few);
  const double loads = 32 * input.counts[Counter::global_load_sectors].value;
  input.reread_bytes =
      few.reread_bytes / seen->loaded_bytes * loads / static_cast<double>(input.blocks);
  input.reread_span = few.reread_span * longer(*task, workload.sizes, smaller);
  return true;
}

}  // namespace cupilot
