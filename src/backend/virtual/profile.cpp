#include "backend/virtual/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <cupilot/parts/rejection.hpp>

#include "backend/virtual/counts.hpp"
#include "backend/virtual/measure.hpp"
#include "predict/kernel_residual.hpp"

namespace cupilot {
namespace {

// Warp instructions that a checked run of everything may take, about: a second or two.
constexpr double whole_run = 12e6;

double about_instructions(const Task& task, const Workload& workload) {
  const auto flops = textbook_flops(task, workload);
  const auto bytes = compulsory_bytes(task, workload);
  return (flops ? static_cast<double>(*flops) / 40 : 0) +
         (bytes ? static_cast<double>(*bytes) / 8 : 0);
}

// The kernel that is profiled, at its full size.
struct ProfiledKernel {
  const VirtualContext& context;
  const TaskRef& task;
  const CompiledKernel& kernel;
  const Workload& workload;
  KernelPrograms& programs;
  Content content{1, ContentKind::ordinary};

  Attempt<Resolution> plan_at(const Workload& at) const {
    return resolve(kernel.source, task, at, context.device, &kernel);
  }

  Attempt<ResolvedPlan> plan() const {
    Attempt<Resolution> resolution = plan_at(workload);
    if (!resolution) return resolution.failure();
    if (auto* plan = std::get_if<ResolvedPlan>(&*resolution)) return std::move(*plan);
    return reject("verify.no_shape",
                  "the plan requires " + std::get<NotForThisShape>(*resolution).require);
  }
};

// Lines of one launch and where they were seen.
struct LaunchLines {
  WorkByPlace work;
  std::string from;
};

std::string shape_text(const Workload& workload) {
  std::string text;
  for (const auto& [axis, size] : workload.sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, size);
  return text.empty() ? "the task's only shape" : text;
}

std::int64_t blocks_of(const ResolvedLaunch& launch) {
  return launch.grid[0] * launch.grid[1] * launch.grid[2];
}

// The workload whose whole run is affordable: the full one, or two tiles and fewer of each axis
// where the plan fits those.
Workload whole_workload(const ProfiledKernel& subject, const ResolvedPlan& plan) {
  const Task& task = subject.task;
  const std::int64_t step = residue_step(subject.kernel.source.constants);
  const PlanAt plan_at = [&](const Workload& at) { return subject.plan_at(at); };
  const Workload lighter = counting_workload(task, plan_at, subject.workload, step);
  const bool light = lighter.sizes == subject.workload.sizes;
  if (light && about_instructions(task, subject.workload) <= whole_run) return subject.workload;
  for (std::int64_t size = step; size >= 8; size /= 2) {
    for (const std::int64_t tiles : {2, 1}) {
      Workload small = subject.workload;
      for (const AxisPair& axis : shrunk_axes(task, subject.workload, size, tiles))
        small.sizes[axis.axis] = axis.low;
      if (about_instructions(task, small) > whole_run) continue;
      const Attempt<Resolution> fits = subject.plan_at(small);
      const ResolvedPlan* smaller = fits ? std::get_if<ResolvedPlan>(&*fits) : nullptr;
      if (smaller != nullptr && smaller->launches.size() == plan.launches.size()) return small;
    }
  }
  return subject.workload;
}

Rejected fault_in(const ResolvedLaunch& launch, const ptx::Fault& fault, const std::string& shape) {
  return reject(fault.code, fmt::format("{}: {}; shape {}", launch.entry, fault.message, shape),
                fault.where);
}

// All launches of the plan at `at`, every access checked.
Attempt<std::vector<LaunchLines>> run_whole(const ProfiledKernel& subject, const Workload& at) {
  Attempt<Resolution> resolution = subject.plan_at(at);
  if (!resolution) return resolution.failure();
  const auto& plan = std::get<ResolvedPlan>(*resolution);
  if (const auto lack = lacks_memory(plan)) return reject(lack->code, lack->message, lack->where);
  Result<VirtualMemory> memory = VirtualMemory::make(
      subject.task, {.workload = at, .content = subject.content}, plan, subject.context.inputs);
  if (!memory) return memory.error();
  std::vector<LaunchLines> all;
  for (const When when : {When::setup, When::run}) {
    if (when == When::run) {
      if (Result<void> filled = memory->fill_tensors(subject.context.inputs, Poison::quiet_nan);
          !filled)
        return filled.error();
    }
    for (const ResolvedLaunch& launch : plan.launches) {
      if (launch.when != when) continue;
      LaunchRun how{.blocks = {}, .budget = instruction_budget(subject.task, at)};
      how.count = how.by_instruction = when == When::run;
      Attempt<ptx::Report> report =
          run_launch(subject.context, subject.kernel, subject.programs, *memory, launch, how);
      if (!report) return report.failure();
      if (!report->faults.empty()) return fault_in(launch, report->faults.front(), shape_text(at));
      if (when == When::setup) continue;
      all.emplace_back();
      add_lines(all.back().work, *report, 1);
      const std::string blocks = fmt::format("all {} blocks", blocks_of(launch));
      all.back().from = at.sizes == subject.workload.sizes
                            ? blocks
                            : fmt::format("{} at {}", blocks, shape_text(at));
    }
  }
  return all;
}

// Says if blocks of a launch may be run without the others: alone, in columns (see count_launches),
// or not at all.
enum class Apart { not_at_all, columns, alone };

Apart apart(const ProfiledKernel& subject, const ResolvedLaunch& launch) {
  const EntryFacts* facts = find_entry(subject.kernel, launch.entry);
  const ptx::Function* entry =
      facts == nullptr ? nullptr : subject.programs.module().entry(facts->name);
  if (entry == nullptr || launch.cooperative) return Apart::not_at_all;
  const Dependence seen = dependence_of(subject.programs.module(), *entry);
  if (seen.waits) return Apart::not_at_all;
  if (!seen.tickets) return Apart::alone;
  return launch.grid[1] > 1 || launch.grid[2] > 1 ? Apart::columns : Apart::not_at_all;
}

// Sampled blocks of one launch at `at`; what there was stays when a sample takes too long.
Result<void> sample_lines(const ProfiledKernel& subject, const Workload& at, VirtualMemory& memory,
                          const ResolvedLaunch& launch, LaunchLines& lines) {
  const Apart how_apart = apart(subject, launch);
  if (how_apart == Apart::not_at_all) return {};
  LaunchLines sampled;
  std::uint64_t spent = 0, ran = 0, samples = 0;
  for (const Sample& one : choose_samples(launch.grid, how_apart == Apart::columns)) {
    if (samples > 0 && spent + spent / samples > counting_budget) break;
    LaunchRun how{.blocks = one.blocks, .budget = 2 * counting_budget};
    how.checks = false;
    how.count = how.by_instruction = true;
    const Attempt<ptx::Report> report =
        run_launch(subject.context, subject.kernel, subject.programs, memory, launch, how);
    if (report.is_error()) return report.error();
    if (report.is_rejected() || !report->faults.empty()) return {};
    add_lines(sampled.work, *report, one.weight);
    spent += report->warp_instructions;
    ran += one.blocks.size();
    ++samples;
  }
  sampled.from = fmt::format("{} of {} blocks", ran, blocks_of(launch));
  if (at.sizes != subject.workload.sizes) sampled.from += " at " + shape_text(at);
  lines = std::move(sampled);
  return {};
}

// Blocks of the full size say more than whole launches at a smaller one, where they can be run
// alone.
Result<void> refine(const ProfiledKernel& subject, std::vector<LaunchLines>& lines) {
  const Task& task = subject.task;
  const PlanAt plan_at = [&](const Workload& at) { return subject.plan_at(at); };
  const Workload at = counting_workload(task, plan_at, subject.workload,
                                        residue_step(subject.kernel.source.constants));
  const Attempt<Resolution> resolution = subject.plan_at(at);
  const auto* plan = resolution ? std::get_if<ResolvedPlan>(&*resolution) : nullptr;
  if (plan == nullptr) return {};
  // Setup launches are left out: their results would have to be made whole first.
  const auto timed = [](const ResolvedLaunch& launch) { return launch.when == When::run; };
  if (!std::all_of(plan->launches.begin(), plan->launches.end(), timed)) return {};
  Result<VirtualMemory> memory = VirtualMemory::make(
      subject.task, {.workload = at, .content = subject.content}, *plan, subject.context.inputs);
  if (!memory) return {};
  if (Result<void> filled = memory->fill_tensors(subject.context.inputs, Poison::quiet_nan);
      !filled)
    return filled;
  for (std::size_t i = 0; i < plan->launches.size() && i < lines.size(); ++i) {
    if (Result<void> done = sample_lines(subject, at, *memory, plan->launches[i], lines[i]); !done)
      return done;
  }
  return {};
}

LaunchProfile shape_of_launch(const ProfiledKernel& subject, const ResolvedLaunch& launch,
                              const ModelInput& input) {
  LaunchProfile profile;
  profile.name = launch.name;
  profile.entry = launch.entry;
  profile.grid = launch.grid;
  profile.block = launch.block;
  profile.cluster = launch.cluster;
  profile.counts = input.counts;
  profile.shared_bytes = input.shared_bytes;
  if (const EntryFacts* facts = find_entry(subject.kernel, launch.entry)) {
    profile.registers = facts->registers;
    profile.spill_store_bytes = facts->spill_store_bytes;
    profile.spill_load_bytes = facts->spill_load_bytes;
  }
  const DeviceSpec& device = subject.context.device;
  profile.residency =
      residency(device, input.threads_per_block, input.registers, input.shared_bytes);
  profile.time = predicted_time(device, *subject.task, {input});
  return profile;
}

}  // namespace

Attempt<Profile> profile_kernel(const VirtualContext& context, const TaskRef& task,
                                const CompiledKernel& kernel, const Workload& workload) {
  Attempt<KernelPrograms> programs = KernelPrograms::parse(kernel);
  if (!programs) return programs.failure();
  const ProfiledKernel subject{context, task, kernel, workload, *programs};
  Attempt<ResolvedPlan> plan = subject.plan();
  if (!plan) return plan.failure();
  const Workload whole = whole_workload(subject, *plan);
  Attempt<std::vector<LaunchLines>> lines = run_whole(subject, whole);
  if (!lines) return lines.failure();
  if (whole.sizes != workload.sizes) {
    if (Result<void> refined = refine(subject, *lines); !refined) return refined.error();
  }
  const PlanAt plan_at = [&](const Workload& at) { return subject.plan_at(at); };
  auto inputs =
      count_launches(context, task, kernel, *programs, plan_at, *plan, workload, subject.content);
  if (!inputs) return inputs.failure();

  Profile profile;
  profile.device = "virtual:" + context.device.name;
  profile.workload = workload;
  if (const Result<double> floor = floor_us(task, workload, context.device, task->precision))
    profile.floor_us = *floor;
  profile.time = predicted_time(context.device, *task, *inputs, profile.floor_us);
  Measurement whole_plan = modelled_plan(context, task, workload, *inputs);
  profile.time.us = whole_plan.time_us;
  profile.time.low_us = whole_plan.interval_low_us;
  profile.time.high_us = whole_plan.interval_high_us;
  profile.conditions = std::move(whole_plan.conditions);
  // Cleared buffers stand before the launches.
  std::size_t at = inputs->size() - lines->size(), seen = 0;
  for (const ResolvedLaunch& launch : plan->launches) {
    if (launch.when != When::run) continue;
    profile.launches.push_back(shape_of_launch(subject, launch, (*inputs)[at++]));
    LaunchProfile& made = profile.launches.back();
    made.lines_from = (*lines)[seen].from;
    summarize(made, programs->module(), (*lines)[seen++].work);
  }
  return profile;
}

}  // namespace cupilot
