// Counts of grids that have as many blocks as the device has room for, each of which stays and
// waits for others (stream-K).
#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/extrapolate.hpp"
#include "backend/virtual/parts_of_sums.hpp"
#include "backend/virtual/sampled.hpp"

namespace cupilot {
namespace {

constexpr int fewest_sms = 4;  // so that clusters of two are two and more

// A smaller problem and the device where each block has about the work that it has of the whole.
struct ShrunkProblem {
  DeviceSpec device;
  Workload workload;
  double times = 1;  // work of the whole problem over this one's
};

std::string longest_axis(const Task& task, const Sizes& sizes, AxisKind kind) {
  std::string longest;
  for (const Axis& axis : task.axes) {
    if (axis.kind != kind || sizes.count(axis.name) == 0) continue;
    if (longest.empty() || sizes.at(axis.name) > sizes.at(longest)) longest = axis.name;
  }
  return longest;
}

// Free axes halved, longest first, residues kept.
ShrunkProblem shrunk_for(const Task& task, const DeviceSpec& device, const Workload& workload,
                         std::int64_t step) {
  ShrunkProblem shrunk{device, workload};
  Sizes& sizes = shrunk.workload.sizes;
  for (;;) {
    const std::string longest = longest_axis(task, sizes, AxisKind::free);
    if (longest.empty()) break;
    const std::int64_t extent = sizes.at(longest), half = extent / step / 2 * step + extent % step;
    if (half < step || half >= extent) break;
    const double times = shrunk.times * static_cast<double>(extent) / static_cast<double>(half);
    if (device.sms / times < fewest_sms) break;
    sizes[longest] = half;
    shrunk.times = times;
  }
  shrunk.device.sms = static_cast<int>(std::lround(device.sms / shrunk.times));
  return shrunk;
}

double blocks_in(const ResolvedLaunch& launch) { return static_cast<double>(block_count(launch)); }

// True if every launch of a run has fewer blocks, and by about as much as there are fewer SMs.
bool follows(const ResolvedPlan& fewer, const ResolvedPlan& plan, double times) {
  if (fewer.launches.size() != plan.launches.size()) return false;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    if (plan.launches[l].when != When::run) continue;
    const double ratio = blocks_in(plan.launches[l]) / blocks_in(fewer.launches[l]);
    if (!(ratio > 0.75 * times && 0.75 * ratio < times)) return false;
  }
  return true;
}

// The longest reduced axis at two and at four steps, where it is longer: what is done along it
// grows evenly.
std::vector<AxisPair> along_reduced(const Task& task, const Sizes& sizes, std::int64_t step) {
  const std::string longest = longest_axis(task, sizes, AxisKind::reduced);
  if (longest.empty()) return {};
  const std::int64_t full = sizes.at(longest), rest = full % step;
  if (rest + 4 * step >= full) return {};
  return {{longest, rest + 2 * step, rest + 4 * step, full}};
}

bool affordable(const Task& task, const Workload& workload, const std::vector<AxisPair>& axes,
                bool wgmma) {
  Workload longest = workload;
  for (const AxisPair& axis : axes) longest.sizes[axis.axis] = axis.high;
  const auto operations = textbook_flops(task, longest);
  return operations && static_cast<double>(*operations) / (wgmma ? wgmma_instruction_operations
                                                                 : plain_instruction_operations) <=
                           2.0 * static_cast<double>(counting_budget);
}

void scale(Counts& counts, double times, double unlike, double blocks) {
  for (Count& count : counts.all) {
    const double value = count.value * times;
    const double slack =
        std::max(unlike, count.value > 0 ? (count.high - count.value) / count.value : 0.0);
    count = {value, value * std::max(0.0, 1 - slack), value * (1 + slack), CountHow::extrapolated};
  }
  counts.all[static_cast<std::size_t>(Counter::blocks)] = {blocks, blocks, blocks, CountHow::exact};
}

}  // namespace

std::optional<std::vector<ExtrapolatedLaunch>> count_staying(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const ResolvedPlan& plan, const Workload& workload, std::int64_t step,
    const Content& content) {
  const ShrunkProblem shrunk = shrunk_for(task, context.device, workload, step);
  if (shrunk.times <= 1) return std::nullopt;
  const PlanAt plan_at = [&](const Workload& at) {
    return resolve(kernel.source, task, at, shrunk.device, &kernel);
  };
  const Attempt<Resolution> resolution = plan_at(shrunk.workload);
  const ResolvedPlan* fewer = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (fewer == nullptr || !follows(*fewer, plan, shrunk.times)) return std::nullopt;
  std::vector<AxisPair> axes = along_reduced(task, shrunk.workload.sizes, step);
  if (any_last_block(kernel, programs, plan))
    keep_parts(*task, plan_at, shrunk.workload, step, axes);
  if (!affordable(task, shrunk.workload, axes, has_wgmma(programs.module()))) return std::nullopt;
  const VirtualContext there{shrunk.device, context.inputs, context.oracle};
  auto counted = extrapolate_along(there, task, kernel, programs, plan_at, *fewer, shrunk.workload,
                                   axes, content);
  if (!counted) return std::nullopt;
  const double unlike = std::abs(1 - shrunk.times * shrunk.device.sms / context.device.sms);
  std::size_t at = 0;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    if (plan.launches[l].when != When::run) continue;
    ExtrapolatedLaunch& launch = (*counted)[at++];
    const double blocks = blocks_in(plan.launches[l]);
    scale(launch.counts, shrunk.times, unlike, blocks);
    const double more = shrunk.times * blocks_in(fewer->launches[l]) / blocks;
    launch.chain_times *= more;
    launch.waits_times *= more;
  }
  return *std::move(counted);
}

}  // namespace cupilot
