#include "backend/virtual/parts_of_sums.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/sampled.hpp"

namespace cupilot {
namespace {

// Blocks of each run launch and bytes of each buffer; empty: the plan is not for these sizes.
std::vector<double> extents_of_plan(const PlanAt& plan_at, const Sizes& sizes) {
  const Attempt<Resolution> resolution = plan_at({sizes, 1});
  const auto* plan = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  std::vector<double> extents;
  if (plan == nullptr) return extents;
  for (const ResolvedLaunch& launch : plan->launches) {
    if (launch.when == When::run) extents.push_back(static_cast<double>(block_count(launch)));
  }
  for (const ResolvedBuffer& buffer : plan->buffers)
    extents.push_back(static_cast<double>(buffer.bytes));
  return extents;
}

// A plan along one axis, others at their lower extents.
class PlanAlong {
 public:
  PlanAlong(const PlanAt& plan_at, Sizes sizes, const AxisPair& axis)
      : plan_at_(plan_at), sizes_(std::move(sizes)), axis_(axis) {}

  bool grows_evenly(std::int64_t low, std::int64_t high) {
    const std::int64_t next = 2 * high - low;
    return lies_on(low, high, axis_.full) && (next > axis_.full || lies_on(low, high, next));
  }

 private:
  const std::vector<double>& at(std::int64_t extent) {
    const auto [found, fresh] = known_.try_emplace(extent);
    if (fresh) {
      sizes_[axis_.axis] = extent;
      found->second = extents_of_plan(plan_at_, sizes_);
    }
    return found->second;
  }

  // True if the line from `low` to `high` meets what the plan has at an extent, nearly: tiles are
  // whole.
  bool lies_on(std::int64_t low, std::int64_t high, std::int64_t extent) {
    constexpr double nearly = 0.1;
    const std::vector<double>&from = at(low), &to = at(high), &there = at(extent);
    if (from.empty() || from.size() != to.size() || from.size() != there.size()) return false;
    const double along = static_cast<double>(extent - low) / static_cast<double>(high - low);
    for (std::size_t i = 0; i < there.size(); ++i) {
      const double met = from[i] + along * (to[i] - from[i]);
      if (std::abs(met - there[i]) > nearly * std::max(there[i], 1.0)) return false;
    }
    return true;
  }

  const PlanAt& plan_at_;
  Sizes sizes_;
  const AxisPair& axis_;
  std::map<std::int64_t, std::vector<double>> known_;
};

bool is_reduced(const Task& task, const std::string& name) {
  return std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
    return axis.name == name && axis.kind == AxisKind::reduced;
  });
}

// The blocks of a grid, one a cluster, and the last of them apart.
struct Arrivals {
  std::vector<std::uint64_t> others;
  std::uint64_t last = 0;
};

Arrivals arrivals_of(const ResolvedLaunch& launch) {
  std::vector<std::uint64_t> all(block_count(launch));
  std::iota(all.begin(), all.end(), 0);
  Arrivals arrivals{one_a_cluster(launch, all)};
  const auto last =
      std::find_if(arrivals.others.begin(), arrivals.others.end(), [&](std::uint64_t one) {
        return one_a_cluster(launch, {one, all.back()}).size() == 1;
      });
  arrivals.last = *last;
  arrivals.others.erase(last);
  return arrivals;
}

// Runs of a plan's launches, one after another on one memory.
struct WholeRuns {
  const VirtualContext& context;
  const CompiledKernel& kernel;
  KernelPrograms& programs;
  VirtualMemory& memory;
  bool well = true;  // all ended, and without a fault

  // Load requests of a block, the mean; `blocks` empty: all of them.
  Attempt<double> requests(const ResolvedLaunch& launch, std::vector<std::uint64_t> blocks) {
    LaunchRun how;
    how.blocks = std::move(blocks);
    how.budget = 4 * counting_budget;
    how.checks = how.products = false;
    how.count = true;
    Attempt<ptx::Report> report = run_launch(context, kernel, programs, memory, launch, how);
    if (!report) return report.failure();
    well = well && report->faults.empty();
    return report->counts[Counter::global_load_requests].value /
           static_cast<double>(block_count(launch));
  }

  // Those of the last block, before or after all others.
  Attempt<double> requests_of_last(const ResolvedLaunch& launch, bool first) {
    const Arrivals arrivals = arrivals_of(launch);
    if (arrivals.others.empty()) return requests(launch, {});
    double last = 0;
    for (const bool now : {first, !first}) {
      Attempt<double> one =
          requests(launch, now ? std::vector<std::uint64_t>{arrivals.last} : arrivals.others);
      if (!one || !well) return one;
      if (now) last = *one;
    }
    return last;
  }
};

// Load requests of the last block of each run launch, before or after all others; empty: unknown.
Attempt<std::vector<double>> requests_of_last_blocks(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const ResolvedPlan& plan, const Case& what, bool first) {
  Result<VirtualMemory> memory = VirtualMemory::make(task, what, plan, context.inputs);
  if (!memory) return memory.error();
  WholeRuns runs{context, kernel, programs, *memory};
  std::vector<double> all;
  for (const When when : {When::setup, When::run}) {
    if (when == When::run) {
      if (Result<void> filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
        return filled.error();
    }
    for (const ResolvedLaunch& launch : plan.launches) {
      if (launch.when != when) continue;
      const bool apart = when == When::run && has_last_block(kernel, programs, launch);
      Attempt<double> one =
          apart ? runs.requests_of_last(launch, first) : runs.requests(launch, {});
      if (!one) return one.failure();
      if (!runs.well) return std::vector<double>();
      if (when == When::run) all.push_back(apart ? *one : 0);
    }
  }
  return all;
}

}  // namespace

bool has_last_block(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedLaunch& launch) {
  const auto seen = dependence_of(kernel, programs, launch);
  return seen && seen->tickets && !seen->waits;
}

bool any_last_block(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedPlan& plan) {
  return std::any_of(plan.launches.begin(), plan.launches.end(), [&](const ResolvedLaunch& launch) {
    return launch.when == When::run && has_last_block(kernel, programs, launch);
  });
}

void keep_parts(const Task& task, const PlanAt& plan_at, const Workload& workload,
                std::int64_t step, std::vector<AxisPair>& axes) {
  constexpr std::int64_t most_steps = 128;
  Sizes sizes = workload.sizes;
  for (const AxisPair& axis : axes) sizes[axis.axis] = axis.low;
  for (AxisPair& axis : axes) {
    if (!is_reduced(task, axis.axis)) continue;
    PlanAlong plan(plan_at, sizes, axis);
    if (plan.grows_evenly(axis.low, axis.high)) continue;
    const std::int64_t first = axis.low, end = std::min(axis.full, first + most_steps * step);
    bool found = false;
    for (std::int64_t last = first + 2 * step; last <= end && !found; last += step) {
      for (std::int64_t low = first; low + 2 * step <= last && !found; low += step) {
        if ((last - low) % (2 * step) != 0) continue;
        found = plan.grows_evenly(low, (low + last) / 2);
        if (found) axis = {axis.axis, low, (low + last) / 2, axis.full};
      }
    }
    sizes[axis.axis] = axis.low;
  }
}

Attempt<std::vector<double>> last_requests(const VirtualContext& context, const TaskRef& task,
                                           const CompiledKernel& kernel, KernelPrograms& programs,
                                           const PlanAt& plan_at, const Workload& workload,
                                           const Content& content) {
  const Attempt<Resolution> resolution = plan_at(workload);
  const auto* plan = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (plan == nullptr || !any_last_block(kernel, programs, *plan)) return std::vector<double>();
  const Case what{.workload = workload, .content = content};
  Attempt<std::vector<double>> alone =
      requests_of_last_blocks(context, task, kernel, programs, *plan, what, true);
  if (!alone || alone->empty()) return alone;
  Attempt<std::vector<double>> after =
      requests_of_last_blocks(context, task, kernel, programs, *plan, what, false);
  if (!after || after->empty()) return after;
  for (std::size_t i = 0; i < after->size(); ++i)
    (*after)[i] = std::max(0.0, (*after)[i] - (*alone)[i]);
  return after;
}

}  // namespace cupilot
