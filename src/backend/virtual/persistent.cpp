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

double blocks_in(const ResolvedLaunch& launch) { return static_cast<double>(block_count(launch)); }

std::string longest_axis(const Task& task, const Sizes& sizes, AxisKind kind) {
  std::string longest;
  for (const Axis& axis : task.axes) {
    if (axis.kind != kind || sizes.count(axis.name) == 0) continue;
    if (longest.empty() || sizes.at(axis.name) > sizes.at(longest)) longest = axis.name;
  }
  return longest;
}

// Halves an extent, its residue modulo `step` kept; 0: it is too short.
std::int64_t half_of(std::int64_t extent, std::int64_t step) {
  const std::int64_t half = extent / step / 2 * step + extent % step;
  return half < step || half >= extent ? 0 : half;
}

// Makes the problem shorter along an axis; false: the device would have too few SMs.
bool shorten(const std::string& axis, std::int64_t to, const DeviceSpec& device,
             ShrunkProblem& shrunk) {
  std::int64_t& extent = shrunk.workload.sizes[axis];
  const double times = shrunk.times * static_cast<double>(extent) / static_cast<double>(to);
  if (device.sms / times < fewest_sms) return false;
  extent = to;
  shrunk.times = times;
  shrunk.device.sms = static_cast<int>(std::lround(device.sms / times));
  return true;
}

// Free axes halved, longest first, residues kept.
ShrunkProblem shrunk_for(const Task& task, const DeviceSpec& device, const Workload& workload,
                         std::int64_t step) {
  ShrunkProblem shrunk{device, workload};
  for (;;) {
    const std::string longest = longest_axis(task, shrunk.workload.sizes, AxisKind::free);
    if (longest.empty()) return shrunk;
    const std::int64_t half = half_of(shrunk.workload.sizes.at(longest), step);
    if (half == 0 || !shorten(longest, half, device, shrunk)) return shrunk;
  }
}

// Launches of a run that have fewer blocks by about as much as there are fewer SMs; empty: another
// number of launches.
std::vector<bool> following(const ResolvedPlan& fewer, const ResolvedPlan& plan, double times) {
  std::vector<bool> follow;
  if (fewer.launches.size() != plan.launches.size()) return follow;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    const double ratio = blocks_in(plan.launches[l]) / blocks_in(fewer.launches[l]);
    follow.push_back(plan.launches[l].when == When::run && ratio > 0.75 * times &&
                     0.75 * ratio < times);
  }
  return follow;
}

bool all_follow(const ResolvedPlan& plan, const std::vector<bool>& follow) {
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    if (plan.launches[l].when == When::run && (l >= follow.size() || !follow[l])) return false;
  }
  return true;
}

bool any_follows(const std::vector<bool>& follow) {
  return std::find(follow.begin(), follow.end(), true) != follow.end();
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

// Tells if launches that have no more blocks than the device has room for do less of the work along
// an axis: on a device without end they would have so many blocks fewer.
class LimitedLaunches {
 public:
  LimitedLaunches(const PlanAt& plan_without_end, const ResolvedPlan& plan)
      : plan_without_end_(plan_without_end), plan_(plan) {}

  bool do_less(const Workload& workload, const std::string& axis, std::int64_t to) const {
    Workload shorter = workload;
    shorter.sizes[axis] = to;
    const double times = static_cast<double>(workload.sizes.at(axis)) /
                         static_cast<double>(std::max<std::int64_t>(1, to));
    const std::vector<double> all = blocks_at(workload), fewer = blocks_at(shorter);
    if (all.size() != plan_.launches.size() || fewer.size() != all.size()) return false;
    for (std::size_t l = 0; l < all.size(); ++l) {
      const bool limited = all[l] > blocks_in(plan_.launches[l]);
      const double ratio = all[l] / fewer[l];
      if (limited && !(ratio > 0.75 * times && 0.75 * ratio < times)) return false;
    }
    return true;
  }

 private:
  std::vector<double> blocks_at(const Workload& workload) const {
    const Attempt<Resolution> resolution = plan_without_end_(workload);
    const auto* plan = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
    std::vector<double> blocks;
    if (plan == nullptr) return blocks;
    for (const ResolvedLaunch& launch : plan->launches) blocks.push_back(blocks_in(launch));
    return blocks;
  }

  const PlanAt& plan_without_end_;
  const ResolvedPlan& plan_;
};

// Free axes halved along which all limited launches do less, longest first, residues kept; then
// those of `repeated`.
ShrunkProblem shrunk_evenly(const Task& task, const DeviceSpec& device, const Workload& workload,
                            std::int64_t step, const std::set<std::string>& repeated,
                            const LimitedLaunches& limited) {
  ShrunkProblem shrunk{device, workload};
  Sizes left = workload.sizes;
  for (;;) {
    const std::string axis = longest_axis(task, left, AxisKind::free);
    if (axis.empty()) break;
    const std::int64_t half = half_of(left.at(axis), step);
    if (half > 0 && limited.do_less(shrunk.workload, axis, half) &&
        shorten(axis, half, device, shrunk))
      left[axis] = half;
    else
      left.erase(axis);
  }
  for (const std::string& axis : repeated) {
    for (std::int64_t half = shrunk.workload.sizes.at(axis) / 2;
         half > 0 && shorten(axis, half, device, shrunk);)
      half /= 2;
  }
  return shrunk;
}

// The plan of a shrunk problem.
struct ShrunkPlan {
  const PlanAt& plan_at;
  const ResolvedPlan& plan;
  std::vector<bool> follow;  // of launches: following()
  std::vector<bool> apart;   // of launches: no block waits for another, so that samples tell of it
};

// True if each launch has as many blocks at the low ends of `axes` as at their full extents, or as
// many times fewer as they are shorter, and one that follows has as many: its blocks stay, and do
// less. Launches apart may have any.
bool as_many_stay(const ShrunkPlan& shrunk, Workload workload, const std::vector<AxisPair>& axes) {
  double times = 1;
  for (const AxisPair& axis : axes) {
    workload.sizes[axis.axis] = axis.low;
    times *= static_cast<double>(axis.full) / static_cast<double>(axis.low);
  }
  const std::vector<ResolvedLaunch>& launches = shrunk.plan.launches;
  const Attempt<Resolution> resolution = shrunk.plan_at(workload);
  const auto* few = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (few == nullptr || few->launches.size() != launches.size()) return false;
  bool any = false;
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const double blocks = blocks_in(launches[l]), there = blocks_in(few->launches[l]);
    if (blocks != there && blocks != times * there && !shrunk.apart[l]) return false;
    any = any || (blocks == there && shrunk.follow[l]);
  }
  return any;
}

std::vector<bool> apart_of(const CompiledKernel& kernel, const KernelPrograms& programs,
                           const ResolvedPlan& plan) {
  std::vector<bool> apart;
  for (const ResolvedLaunch& launch : plan.launches) {
    const auto seen = dependence_of(kernel, programs, launch);
    apart.push_back(seen && !seen->waits && !seen->tickets);
  }
  return apart;
}

// Extents of free axes at which as many blocks stay as at `workload`, and do more and more: few and
// twice as many units of those that repeat, as few of them as make all runs affordable; else two
// extents of the longest. `axes`: reduced ones beside them. Empty: there are none.
std::vector<AxisPair> with_free(const Task& task, const ShrunkPlan& shrunk,
                                const Workload& workload, std::int64_t step,
                                const std::set<std::string>& repeated,
                                const std::vector<AxisPair>& axes, bool wgmma) {
  const auto good = [&](const std::vector<AxisPair>& free, const std::vector<AxisPair>& all) {
    return as_many_stay(shrunk, workload, free) && affordable_corners(task, workload, all, wgmma);
  };
  std::vector<AxisPair> free, all;
  for (const std::int64_t units : {1, 2, 4, 8, 16}) {
    free.clear();
    all = axes;
    for (const std::string& axis : repeated) {
      const std::int64_t full = workload.sizes.at(axis);
      if (full <= 2 * units) continue;
      free.push_back({axis, units, 2 * units, full});
      all.push_back(free.back());
      if (good(free, all)) return all;
    }
  }
  const std::string longest = longest_axis(task, workload.sizes, AxisKind::free);
  if (longest.empty() || repeated.contains(longest)) return {};
  const std::int64_t full = workload.sizes.at(longest), rest = full % step;
  for (std::int64_t more = step; rest + 2 * more < full; more *= 2) {
    free = {{longest, rest + more, rest + 2 * more, full}};
    all = axes;
    all.push_back(free.front());
    if (good(free, all)) return all;
  }
  return {};
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

// Takes counts of the shrunk problem's launches for those of `plan`: of launches that follow in
// proportion to the work, of others to their blocks.
void take_whole(const DeviceSpec& device, const ShrunkProblem& shrunk, const ResolvedPlan& fewer,
                const ResolvedPlan& plan, const std::vector<bool>& follow,
                std::vector<ExtrapolatedLaunch>& counted) {
  const double unlike = std::abs(1 - shrunk.times * shrunk.device.sms / device.sms);
  std::size_t at = 0;
  for (std::size_t l = 0; l < plan.launches.size(); ++l) {
    if (plan.launches[l].when != When::run) continue;
    ExtrapolatedLaunch& launch = counted[at++];
    const double blocks = blocks_in(plan.launches[l]);
    const double fewer_blocks = blocks_in(fewer.launches[l]);
    const double times = follow[l] ? shrunk.times : blocks / fewer_blocks;
    scale(launch.counts, times, unlike, blocks);
    const double more = times * fewer_blocks / blocks;
    launch.chain_times *= more;
    launch.waits_times *= more;
  }
}

}  // namespace

std::optional<std::vector<ExtrapolatedLaunch>> count_staying(
    const VirtualContext& context, const TaskRef& task, const CompiledKernel& kernel,
    KernelPrograms& programs, const ResolvedPlan& plan, const Workload& workload, std::int64_t step,
    const Content& content, Staying how) {
  const PlanAt plan_here = [&](const Workload& at) {
    return resolve(kernel.source, task, at, context.device, &kernel);
  };
  DeviceSpec without_end = context.device;
  without_end.sms = 1 << 24;
  const PlanAt plan_without_end = [&](const Workload& at) {
    return resolve(kernel.source, task, at, without_end, &kernel);
  };
  std::set<std::string> repeated;
  if (how == Staying::fitted)
    repeated = repeated_axes(*task, plan_here, workload, step, Repeating::staying);
  const ShrunkProblem shrunk = how == Staying::whole
                                   ? shrunk_for(*task, context.device, workload, step)
                                   : shrunk_evenly(*task, context.device, workload, step, repeated,
                                                   {plan_without_end, plan});
  if (how == Staying::whole && shrunk.times <= 1) return std::nullopt;
  const PlanAt plan_at = [&](const Workload& at) {
    return resolve(kernel.source, task, at, shrunk.device, &kernel);
  };
  const Attempt<Resolution> resolution = plan_at(shrunk.workload);
  const ResolvedPlan* fewer = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (fewer == nullptr) return std::nullopt;
  const std::vector<bool> follow = following(*fewer, plan, shrunk.times);
  if (how == Staying::whole ? !all_follow(plan, follow) : !any_follows(follow)) return std::nullopt;
  std::vector<AxisPair> axes = along_reduced(task, shrunk.workload.sizes, step);
  if (any_last_block(kernel, programs, plan))
    keep_parts(*task, plan_at, shrunk.workload, step, axes);
  const bool wgmma = has_wgmma(programs.module());
  if (!affordable(task, shrunk.workload, axes, wgmma)) {
    if (how == Staying::whole) return std::nullopt;
    axes = with_free(*task, {plan_at, *fewer, follow, apart_of(kernel, programs, plan)},
                     shrunk.workload, step, repeated, axes, wgmma);
    if (axes.empty()) return std::nullopt;
  }
  const VirtualContext there{shrunk.device, context.inputs, context.oracle};
  auto counted = extrapolate_along(there, task, kernel, programs, plan_at, *fewer, shrunk.workload,
                                   axes, content, how == Staying::fitted ? 2 : 1);
  if (!counted) return std::nullopt;
  take_whole(context.device, shrunk, *fewer, plan, follow, *counted);
  return *std::move(counted);
}

}  // namespace cupilot
