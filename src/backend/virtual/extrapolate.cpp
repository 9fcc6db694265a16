#include "backend/virtual/extrapolate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <cupilot/parts/rejection.hpp>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/measure.hpp"
#include "backend/virtual/parts_of_sums.hpp"
#include "backend/virtual/timed.hpp"
#include "task/extents.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

// Whole runs at one workload: counts of each run launch.
Attempt<std::vector<ExtrapolatedLaunch>> count_whole(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const Workload& workload,
    const Content& content, std::uint64_t longer) {
  Attempt<Resolution> resolution = plan_at(workload);
  if (!resolution) return resolution.failure();
  const auto* plan = std::get_if<ResolvedPlan>(&*resolution);
  if (plan == nullptr)
    return reject("measure.failed",
                  "the plan does not fit the smaller shapes that counts are taken at");
  Result<VirtualMemory> memory =
      VirtualMemory::make(task, {.workload = workload, .content = content}, *plan, context.inputs);
  if (!memory) return memory.error();
  std::vector<ExtrapolatedLaunch> all;
  for (const When when : {When::setup, When::run}) {
    if (when == When::run) {
      if (Result<void> filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
        return filled.error();
    }
    for (const ResolvedLaunch& launch : plan->launches) {
      if (launch.when != when) continue;
      const LaunchRun how{{}, 4 * longer * counting_budget, 0, false, true};
      Attempt<ptx::Report> report = run_launch(context, kernel, programs, *memory, launch, how);
      if (!report) return report.failure();
      if (!report->faults.empty()) {
        return reject("measure.failed", "counting at a smaller shape: " + report->faults[0].message,
                      report->faults[0].where);
      }
      if (when == When::run)
        all.push_back({report->counts, chain_of_launch(kernel, programs, launch, *report)});
    }
  }
  auto wrong = wrong_whole(context, task, *memory, workload, content);
  if (!wrong) return wrong.error();
  if (*wrong) return std::move(**wrong);
  return all;
}

Sizes corner(const Workload& workload, const std::vector<AxisPair>& axes, std::size_t which) {
  Sizes sizes = workload.sizes;
  for (std::size_t a = 0; a < axes.size(); ++a)
    sizes[axes[a].axis] = (which >> a & 1) != 0 ? axes[a].high : axes[a].low;
  return sizes;
}

// One step past the box on every axis that has room.
Sizes beyond(const Workload& workload, const std::vector<AxisPair>& axes) {
  Sizes sizes = workload.sizes;
  for (const AxisPair& axis : axes) sizes[axis.axis] = axis.high;
  for (const AxisPair& axis : axes) {
    const std::int64_t further = 2 * axis.high - axis.low;
    if (further > axis.full) continue;
    sizes[axis.axis] = further;
    break;
  }
  return sizes;
}

// Warp instructions of whole runs at all corners, about, of `operations` of the task each.
double cost(const Task& task, const Workload& workload, const std::vector<AxisPair>& axes,
            double operations) {
  double sum = 0;
  for (std::size_t i = 0; i < (std::size_t{1} << axes.size()); ++i) {
    const auto flops = textbook_flops(task, {corner(workload, axes, i), 1});
    sum += flops ? static_cast<double>(*flops) / operations : 0;
  }
  return sum;
}

// Plans may ask for rows of whole 16-byte units: a smaller shape must have them where the full one
// has.
constexpr std::int64_t aligned_elements = 16;
std::int64_t aligned(std::int64_t size) {
  return (size + aligned_elements - 1) / aligned_elements * aligned_elements;
}

// Below `step` an axis may grow without a further tile, and what is fitted to it comes out too
// small: before that, a batch is counted at one matrix and two, and products of warpgroups, which
// take few instructions, at larger shapes. One axis alone is shrunk less: blocks that share a long
// sum go round their loops there as they do at full size.
std::vector<AxisPair> affordable_axes(const Task& task, const Workload& workload, std::int64_t step,
                                      const std::set<std::string>& repeated, bool wgmma) {
  std::vector<AxisPair> axes;
  const auto fits = [&](std::int64_t size, const std::set<std::string>& whole, double operations) {
    const bool alone = shrunk_axes(task, workload, size, 1, whole).size() == 1;
    for (const std::int64_t tiles : {256, 64, 16, 8, 4, 2, 1}) {
      axes = shrunk_axes(task, workload, size, tiles, whole);
      if (tiles > 2 && !alone) continue;
      if (cost(task, workload, axes, operations) <= 4.0 * static_cast<double>(counting_budget))
        return true;
    }
    return false;
  };
  if (fits(step, {}, plain_instruction_operations)) return axes;
  if (!repeated.empty() && fits(step, repeated, plain_instruction_operations)) return axes;
  if (!repeated.empty() && wgmma && fits(step, repeated, wgmma_instruction_operations)) return axes;
  for (std::int64_t size = aligned(step / 2); size >= 32; size = aligned(size / 2)) {
    if (fits(size, repeated, plain_instruction_operations)) return axes;
  }
  return axes;
}

bool affordable_rows(const Task& task, const PlanAt& plan_at, const Workload& workload,
                     const std::vector<AxisPair>& axes) {
  return cost(task, workload, axes, plain_instruction_operations) <=
             4.0 * static_cast<double>(counting_budget) &&
         host_bytes(task, plan_at, {beyond(workload, axes), 1}) <= 4 * counting_bytes;
}

// An axis stays as it is where the plan is not meant for its shorter extents, such as one column of
// 16-byte rows, or a tensor has no size there, as where a window is larger than its input.
void keep_meant(const Task& task, const PlanAt& plan_at, const Workload& workload,
                std::vector<AxisPair>& axes) {
  std::erase_if(axes, [&](const AxisPair& axis) {
    for (const std::int64_t extent : {axis.low, axis.high}) {
      Workload shorter = workload;
      shorter.sizes[axis.axis] = extent;
      if (!has_sizes(task, shorter)) return true;
      const Attempt<Resolution> resolution = plan_at(shorter);
      if (resolution && std::holds_alternative<NotForThisShape>(*resolution)) return true;
    }
    return false;
  });
}

std::vector<AxisPair> free_axes(const Task& task, std::vector<AxisPair> axes) {
  std::erase_if(axes, [&](const AxisPair& pair) {
    return std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
      return axis.name == pair.axis && axis.kind == AxisKind::reduced;
    });
  });
  return axes;
}

bool in_one_dimension(const ResolvedPlan& plan) {
  return std::all_of(plan.launches.begin(), plan.launches.end(), [](const ResolvedLaunch& one) {
    return one.grid[1] == 1 && one.grid[2] == 1;
  });
}

double a_block(const Counts& counts) {
  return counts[Counter::warp_instructions].value / std::max(1.0, counts[Counter::blocks].value);
}

double relative(double got, double want) {
  return got == want ? 0 : std::abs(got - want) / std::max(std::abs(want), 1.0);
}

// Times that a block with `work` instructions waits as long as one of `more`: waits grow as they do
// from `few` to `more`.
double waits_times(const ExtrapolatedLaunch& few, const ExtrapolatedLaunch& more, double work) {
  const double small = a_block(few.counts), large = a_block(more.counts);
  const double times = work / std::max(1.0, large), waits = more.chain.waits;
  if (times <= 1 || large < 1.01 * small || waits <= 0) return times;
  const double each = std::max(0.0, waits - few.chain.waits) / (large - small);
  return std::min(times, 1 + each * (work - large) / waits);
}

struct Runs {
  std::vector<std::vector<ExtrapolatedLaunch>> corners;  // [corner][launch]
  std::vector<ExtrapolatedLaunch> held;
  Sizes held_sizes;
};

// True if an axis makes blocks more and each of them longer, as where every element of a line goes
// over the line. Tiles that are partly there store less, too.
bool grows_twice(const Runs& runs, const std::vector<AxisPair>& axes, std::size_t launch) {
  constexpr double mostly = 0.7, clearly = 0.2, hardly = 0.05;
  const Counts& low = runs.corners[0][launch].counts;
  const auto a_block_of = [](const Counts& counts, Counter counter) {
    return counts[counter].value / std::max(1.0, counts[Counter::blocks].value);
  };
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const Counts& high = runs.corners[std::size_t{1} << a][launch].counts;
    const double more = static_cast<double>(axes[a].high - axes[a].low) /
                        static_cast<double>(std::max<std::int64_t>(1, axes[a].low));
    const auto store = Counter::global_store_requests;
    if (high[Counter::blocks].value >= (1 + mostly * more) * low[Counter::blocks].value &&
        a_block(high) >= (1 + clearly * more) * a_block(low) &&
        a_block_of(high, store) <= (1 + hardly * more) * a_block_of(low, store))
      return true;
  }
  return false;
}

Counts fit(const Runs& runs, const std::vector<AxisPair>& axes, const Sizes& full,
           std::size_t launch, double blocks) {
  Counts counts;
  counts.source = CounterSource::interpreted;
  std::vector<double> values(runs.corners.size());
  const auto read = [&](std::size_t c) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = runs.corners[i][launch].counts.all[c].value;
  };
  const auto block_counter = static_cast<std::size_t>(Counter::blocks);
  if (grows_twice(runs, axes, launch)) {
    const double held = runs.held[launch].counts.all[block_counter].value;
    for (std::size_t c = 0; c < counter_count; ++c) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Counts& corner = runs.corners[i][launch].counts;
        values[i] = corner.all[c].value / std::max(1.0, corner.all[block_counter].value);
      }
      const double value =
          c == block_counter ? blocks : std::max(0.0, multilinear(axes, values, full) * blocks);
      const double slack = relative(multilinear(axes, values, runs.held_sizes) * held,
                                    runs.held[launch].counts.all[c].value);
      counts.all[c] = {value, value * std::max(0.0, 1 - slack), value * (1 + slack),
                       CountHow::extrapolated};
    }
    return counts;
  }
  read(block_counter);
  // Corrects for tiles that do not grow evenly by the number of blocks, which is known at both
  // places. A grid that stopped growing (one of persistent blocks) tells nothing: a fit to its
  // numbers is far from them.
  const auto correction = [&](const Sizes& sizes, double actual) {
    const double fitted = multilinear(axes, values, sizes);
    return actual > 0.75 * fitted && fitted > 0.75 * actual ? actual / fitted : 1.0;
  };
  const double at_full = correction(full, blocks);
  const double at_held =
      correction(runs.held_sizes, runs.held[launch].counts.all[block_counter].value);
  for (std::size_t c = 0; c < counter_count; ++c) {
    read(c);
    const double residual = relative(multilinear(axes, values, runs.held_sizes) * at_held,
                                     runs.held[launch].counts.all[c].value);
    const double value =
        c == block_counter ? blocks : std::max(0.0, multilinear(axes, values, full) * at_full);
    const double slack = c == block_counter ? 0 : std::max(residual, std::abs(1 - at_full));
    counts.all[c] = {value, value * std::max(0.0, 1 - slack), value * (1 + slack),
                     axes.empty() ? CountHow::exact : CountHow::extrapolated};
  }
  return counts;
}

}  // namespace

bool affordable_corners(const Task& task, const Workload& workload,
                        const std::vector<AxisPair>& axes, bool wgmma) {
  return cost(task, workload, axes,
              wgmma ? wgmma_instruction_operations : plain_instruction_operations) <=
         4.0 * static_cast<double>(counting_budget);
}

ptx::Chain chain_of_launch(const CompiledKernel& kernel, const KernelPrograms& programs,
                           const ResolvedLaunch& launch, const ptx::Report& report) {
  const EntryFacts* facts = find_entry(kernel, launch.entry);
  const ptx::Function* entry = facts == nullptr ? nullptr : programs.module().entry(facts->name);
  if (entry == nullptr) return {};
  const auto index = static_cast<std::uint32_t>(entry - programs.module().functions.data());
  return ptx::chain_of(programs.module(), index, report.lines,
                       static_cast<double>(report.blocks_run));
}

std::int64_t residue_step(const Constants& constants) {
  std::int64_t common = aligned_elements, largest = 1;
  for (const auto& [name, value] : constants) {
    if (value < 2 || value > 512) continue;
    largest = std::max(largest, value);
    const std::int64_t next = std::lcm(common, value);
    if (next <= 512) common = next;
  }
  return std::max({common, aligned(largest), std::int64_t{32}});
}

bool has_wgmma(const ptx::Module& module) {
  const auto multiplies = [&](const ptx::Function& function) {
    return std::any_of(function.instructions.begin(), function.instructions.end(),
                       [&](const ptx::Instruction& instruction) {
                         return module.form(instruction).opcode == ptx::Opcode::op_wgmma;
                       });
  };
  return std::any_of(module.functions.begin(), module.functions.end(), multiplies);
}

std::vector<AxisPair> shrunk_axes(const Task& task, const Workload& workload, std::int64_t step,
                                  std::int64_t tiles, const std::set<std::string>& repeated) {
  std::vector<AxisPair> axes;
  for (const Axis& axis : task.axes) {
    const auto found = workload.sizes.find(axis.name);
    if (axis.kind == AxisKind::fixed || found == workload.sizes.end()) continue;
    const std::int64_t full = found->second, rest = full % step;
    // Axes far shorter than a tile repeat whole (batches): one and two of them tell all.
    const bool few = full < step || repeated.contains(axis.name);
    const std::int64_t low = few ? 1 : rest + step * tiles,
                       high = few ? 2 : low + step * std::max<std::int64_t>(1, tiles / 2);
    if (high < full) axes.push_back({axis.name, low, high, full});
  }
  if (axes.size() > 4) axes.resize(4);
  return axes;
}

std::vector<AxisPair> whole_row_axes(const Task& task, const Workload& workload,
                                     std::int64_t step) {
  std::int64_t several = 0, row = 1;
  for (const Axis& axis : task.axes) {
    const auto found = workload.sizes.find(axis.name);
    if (axis.kind != AxisKind::reduced || found == workload.sizes.end() || found->second == 1)
      continue;
    if (found->second >= step) return {};
    ++several;
    row *= found->second;
  }
  if (several < 2 || row < step) return {};
  return free_axes(task, shrunk_axes(task, workload, step, 1, {}));
}

double multilinear(const std::vector<AxisPair>& axes, const std::vector<double>& values,
                   const Sizes& sizes) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double weight = 1;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto x = static_cast<double>(sizes.at(axes[a].axis) - axes[a].low);
      const double along = x / static_cast<double>(axes[a].high - axes[a].low);
      weight *= (i >> a & 1) != 0 ? along : 1 - along;
    }
    sum += weight * values[i];
  }
  return sum;
}

Attempt<std::vector<ExtrapolatedLaunch>> extrapolate_along(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const ResolvedPlan& plan,
    const Workload& workload, const std::vector<AxisPair>& axes, const Content& content,
    std::uint64_t longer) {
  Runs runs;
  for (std::size_t i = 0; i < (std::size_t{1} << axes.size()); ++i) {
    auto counted = count_whole(context, task, kernel, programs, plan_at,
                               {corner(workload, axes, i), 1}, content, longer);
    if (!counted) return counted;
    runs.corners.push_back(std::move(*counted));
  }
  runs.held_sizes = beyond(workload, axes);
  auto held =
      count_whole(context, task, kernel, programs, plan_at, {runs.held_sizes, 1}, content, longer);
  if (!held) return held;
  runs.held = std::move(*held);

  const auto launches = static_cast<std::size_t>(
      std::count_if(plan.launches.begin(), plan.launches.end(),
                    [](const ResolvedLaunch& launch) { return launch.when == When::run; }));
  const auto has_others = [&](const auto& run) { return run.size() != launches; };
  if (has_others(runs.held) || std::any_of(runs.corners.begin(), runs.corners.end(), has_others))
    return reject("measure.failed",
                  "the plan launches another number of kernels at the smaller shapes that counts "
                  "are taken at");
  const Attempt<std::vector<double>> last = last_requests(context, task, kernel, programs, plan_at,
                                                          {corner(workload, axes, 0), 1}, content);
  if (last.is_error()) return last.error();

  std::vector<ExtrapolatedLaunch> all;
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when != When::run) continue;
    const auto blocks = static_cast<double>(launch.grid[0] * launch.grid[1] * launch.grid[2]);
    const ExtrapolatedLaunch& beside = runs.held[all.size()];
    Counts counts = fit(runs, axes, workload.sizes, all.size(), blocks);
    const double times = a_block(counts) / std::max(1.0, a_block(beside.counts));
    const double waits = waits_times(runs.corners.front()[all.size()], beside, a_block(counts));
    const double requests = last && last->size() == launches ? (*last)[all.size()] : 0;
    all.push_back({std::move(counts), beside.chain, times, waits, requests});
  }
  return all;
}

namespace {

// Along every axis that can be shrunk.
Attempt<std::vector<ExtrapolatedLaunch>> fitted_to_shorter(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const ResolvedPlan& plan,
    const Workload& workload, std::int64_t step, const Content& content) {
  std::vector<AxisPair> axes = whole_row_axes(*task, workload, step);
  if (axes.empty() || !affordable_rows(*task, plan_at, workload, axes))
    axes = affordable_axes(task, workload, step, repeated_axes(task, plan_at, workload, step),
                           has_wgmma(programs.module()));
  keep_meant(*task, plan_at, workload, axes);
  const auto along = [&](const std::vector<AxisPair>& shrunk) {
    auto fitted = extrapolate_along(context, task, kernel, programs, plan_at, plan, workload,
                                    shrunk, content);
    for (std::size_t i = 0; fitted && i < fitted->size(); ++i)
      (*fitted)[i].smallest = corner(workload, shrunk, 0);
    return fitted;
  };
  if (!any_last_block(kernel, programs, plan)) {
    auto fitted = along(axes);
    // Texts that go over several axes for each element count little of it as work of the task; a
    // kernel without tiles tells as much at a few elements.
    for (const std::int64_t size : {16, 8}) {
      if (!kernel.source.constants.empty() || !fitted.is_rejected() ||
          fitted.rejected().code != "measure.failed")
        break;
      axes = shrunk_axes(task, workload, size, 1, {});
      keep_meant(*task, plan_at, workload, axes);
      fitted = along(axes);
    }
    return fitted;
  }
  const std::vector<AxisPair> free = free_axes(*task, axes);
  // Rows by several blocks each: too short ones say little of how these go round their loops.
  if (free.size() < axes.size() && in_one_dimension(plan) && !has_wgmma(programs.module()) &&
      affordable_rows(*task, plan_at, workload, free)) {
    auto fitted = along(free);
    if (!fitted.is_rejected() || fitted.rejected().code != "measure.failed") return fitted;
  }
  std::vector<AxisPair> even = axes;
  keep_parts(*task, plan_at, workload, step, even);
  const double operations =
      has_wgmma(programs.module()) ? wgmma_instruction_operations : plain_instruction_operations;
  const bool affordable =
      cost(*task, workload, even, operations) <= 4.0 * static_cast<double>(counting_budget) &&
      host_bytes(*task, plan_at, {beyond(workload, even), 1}) <= 4 * counting_bytes;
  return along(affordable ? even : axes);
}

// True if counts could not be had, or are of less than half of the task's operations.
bool misses_work(const Task& task, const Workload& workload,
                 const Attempt<std::vector<ExtrapolatedLaunch>>& counted) {
  if (!counted) return counted.is_rejected() && counted.rejected().code == "measure.failed";
  const auto textbook = textbook_flops(task, workload);
  double sum = 0;
  for (const ExtrapolatedLaunch& launch : *counted)
    sum += counted_operations(launch.counts, is_matmul_like(task));
  return textbook && sum < 0.5 * static_cast<double>(*textbook);
}

}  // namespace

Attempt<std::vector<ExtrapolatedLaunch>> extrapolate(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const PlanAt& plan_at, const ResolvedPlan& plan,
    const Workload& workload, const Content& content) {
  const std::int64_t step = residue_step(kernel.source.constants);
  const auto staying = [&](Staying how) {
    return count_staying(context, task, kernel, programs, plan, workload, step, content, how);
  };
  if (auto counted = staying(Staying::whole)) return *std::move(counted);
  auto fitted =
      fitted_to_shorter(context, task, kernel, programs, plan_at, plan, workload, step, content);
  if (!misses_work(*task, workload, fitted)) return fitted;
  Attempt<std::vector<ExtrapolatedLaunch>> counted = std::vector<ExtrapolatedLaunch>();
  if (auto further = staying(Staying::fitted)) counted = *std::move(further);
  return misses_work(*task, workload, counted) ? std::move(fitted) : std::move(counted);
}

}  // namespace cupilot
