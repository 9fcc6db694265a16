#include "backend/virtual/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include <cupilot/parts/rejection.hpp>
#include <cupilot/rng.hpp>

#include "backend/compile/checked_compile.hpp"
#include "backend/virtual/full_size.hpp"
#include "backend/virtual/metamorphic.hpp"
#include "backend/virtual/plain_run.hpp"
#include "backend/virtual/sampled.hpp"
#include "ptx/machine/core_share.hpp"
#include "ptx/syntax/parser.hpp"
#include "task/content.hpp"
#include "task/host_judge.hpp"

namespace cupilot {
namespace {

Fault as_fault(const Rejected& rejected) {
  return {rejected.code, rejected.message, rejected.where};
}

// Seeds the choices that a device leaves open: they differ between the cases of a proof and between
// repeats of one. A variation's run and the plain run that it is compared with have the same: they
// may differ by their inputs alone.
std::uint64_t launch_seed(const Case& what, int repeat) {
  std::uint64_t sizes = 0;
  for (const auto& [axis, size] : what.workload.sizes)
    sizes = 1000003 * sizes + static_cast<std::uint64_t>(size);
  const std::uint64_t shown = 32 * sizes + static_cast<std::uint64_t>(what.content.kind);
  return Rng::of(what.content.seed, "launch", shown, static_cast<std::uint64_t>(repeat)).next();
}

std::uint32_t side(std::int64_t value) { return static_cast<std::uint32_t>(value); }

bool is_written(const Tensor& tensor) {
  return tensor.role == Role::out || tensor.role == Role::in_out;
}

// The builds of the reference that show what honest arithmetic errs: a graph, which magnifies
// errors, in each order of sums.
std::span<const ReferenceBuild> honest_builds(const Task& task) {
  static constexpr ReferenceBuild builds[] = {ReferenceBuild::plain, ReferenceBuild::in_turn,
                                              ReferenceBuild::by_eights};
  return std::span(builds).first(is_graph(task) ? 3 : 1);
}

// Adds what the calling program's judge says of an output.
Result<void> report_judged(const VirtualContext& context, const TaskRef& task, std::size_t tensor,
                           const Case& what, VirtualMemory& memory, CaseReport& report) {
  std::string reason;
  auto output = judge_on_host(context, task, tensor, what.workload, what.content, memory, reason);
  if (!output) return output.error();
  if (what.hash) {
    Result<std::string> hash = hash_output(task, tensor, what.workload, memory);
    if (!hash) return hash.error();
    output->bits_hash = std::move(*hash);
  }
  if (!reason.empty()) report.faults.push_back({"verify.judge", reason, output->tensor});
  report.outputs.push_back(std::move(*output));
  return {};
}

Result<void> report_outputs(const VirtualContext& context, const TaskRef& task, const Case& what,
                            VirtualMemory& memory, CaseReport& report) {
  std::vector<std::unique_ptr<PlainRun>> plain;
  std::vector<VirtualMemory*> honest;
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (!is_written(task->tensors[i])) continue;
    if (is_judged_by_host(task->tensors[i])) {
      if (auto told = report_judged(context, task, i, what, memory, report); !told) return told;
      continue;
    }
    auto oracle = context.oracle.values(task, i, what.workload, what.content, what.compare);
    if (!oracle) return oracle.error();
    Result<OutputReport> output =
        compare_output(task, i, what.workload, what.content, memory, **oracle);
    if (!output) return output.error();
    std::optional<Alternatives> others;
    if (output->failed > 0) {
      auto found = alternatives(context, task, i, what.workload, what.content, memory, **oracle);
      if (!found) return found.error();
      others = std::move(*found);
    }
    if (others && !others->of_index) {
      output = compare_output(task, i, what.workload, what.content, memory, **oracle, {}, &*others);
      if (!output) return output.error();
    }
    if (output->failed > 0 && (others || strains_types(what.content.kind) || is_graph(*task))) {
      for (const ReferenceBuild build : honest_builds(*task)) {
        if (plain.size() >= honest_builds(*task).size()) break;
        auto ran = PlainRun::over(context, task, what, build, {});
        if (!ran) return ran.error();
        plain.push_back(std::move(*ran));
        if (plain.back()->memory() != nullptr) honest.push_back(plain.back()->memory());
      }
      output = compare_output(task, i, what.workload, what.content, memory, **oracle, honest,
                              others ? &*others : nullptr);
      if (!output) return output.error();
    }
    if (what.hash) {
      Result<std::string> hash = hash_output(task, i, what.workload, memory);
      if (!hash) return hash.error();
      output->bits_hash = std::move(*hash);
    }
    report.outputs.push_back(std::move(*output));
  }
  return {};
}

// A wrong output that another run of the same inputs gives otherwise, where undefined or older
// values were taken, comes of these.
Result<void> trace_undefined(const PlanRun& run, VirtualMemory& memory, const Case& what,
                             CaseReport& report) {
  constexpr int another = 5;  // a repeat that no case has
  const auto remark = std::find_if(
      report.remarks.begin(), report.remarks.end(),
      [](const Fault& one) { return one.code == "undefined_value" || one.code == "older_value"; });
  const auto wrong = [](const OutputReport& output) {
    return output.failed > 0 || output.never_written > 0;
  };
  if (remark == report.remarks.end() ||
      std::none_of(report.outputs.begin(), report.outputs.end(), wrong))
    return {};
  const std::string where = remark->where;
  CaseReport again;
  Result<bool> ran = run.once(memory, what, another, again);
  if (!ran) return ran.error();
  if (!*ran) return {};
  if (Result<void> told = report_outputs(run.context, run.task, what, memory, again); !told)
    return told;
  for (std::size_t i = 0; i < report.outputs.size(); ++i) {
    const OutputReport &first = report.outputs[i], &second = again.outputs[i];
    if (wrong(first) && (second.got != first.got || second.never_written != first.never_written))
      report.remarks.push_back({"spoiled_output", report.outputs[i].tensor, where});
  }
  return {};
}

Result<void> run_plan(const VirtualContext& context, const TaskRef& task,
                      const CompiledKernel& kernel, KernelPrograms& programs,
                      const ResolvedPlan& plan, const Case& what, CaseReport& report,
                      std::vector<TensorBytes>* left) {
  PlanRun run{context, task, kernel, programs, plan};
  if (auto lack = lacks_memory(plan)) {
    report.faults.push_back(std::move(*lack));
    return {};
  }
  auto memory = VirtualMemory::make(task, what, plan, context.inputs);
  if (!memory) return memory.error();
  Result<bool> ran = run.set_up(*memory, what, report);
  if (ran && *ran) ran = run.once(*memory, what, 0, report);
  if (!ran) return ran.error();
  if (!*ran) return {};
  if (left != nullptr) *left = left_in(task, *memory);
  if (Result<void> told = report_outputs(context, task, what, *memory, report); !told) return told;
  if (Result<void> traced = trace_undefined(run, *memory, what, report); !traced) return traced;
  if (what.repeats > 0) {
    if (Result<void> repeated = repeat(run, *memory, what, report); !repeated) return repeated;
  }
  return is_relation(what.content.variation) && report.faults.empty()
             ? relate(run, *memory, what, report)
             : Result<void>();
}

}  // namespace

std::vector<TensorBytes> left_in(const Task& task, VirtualMemory& memory) {
  std::vector<TensorBytes> left(task.tensors.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (memory.tensor(i) == no_buffer) continue;
    const auto bytes = std::as_bytes(memory.device().data(memory.tensor(i)));
    left[i].assign(bytes.begin(), bytes.end());
  }
  return left;
}

Result<CaseReport> judge_left(const VirtualContext& context, const TaskRef& task, const Case& what,
                              std::span<const TensorBytes> left) {
  CaseReport report;
  report.what = what;
  const ResolvedPlan nothing;
  auto memory = VirtualMemory::make(task, what, nothing, context.inputs);
  if (!memory) return memory.error();
  if (auto filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
    return filled.error();
  for (std::size_t i = 0; i < task->tensors.size(); ++i) {
    if (!is_written(task->tensors[i]) || memory->tensor(i) == no_buffer) continue;
    const auto to = std::as_writable_bytes(memory->device().data(memory->tensor(i)));
    std::copy_n(left[i].begin(), std::min(left[i].size(), to.size()), to.begin());
    memory->device().mark_written(memory->tensor(i));
  }
  if (auto told = report_outputs(context, task, what, *memory, report); !told) return told.error();
  return report;
}

std::optional<Fault> lacks_memory(const ResolvedPlan& plan) {
  double bytes = 0;
  for (const ResolvedBuffer& buffer : plan.buffers) bytes += static_cast<double>(buffer.bytes);
  constexpr std::uint64_t lent = virtual_memory_cap / 4;
  if (bytes <= static_cast<double>(lent)) return std::nullopt;
  return Fault{
      "run.unsupported",
      fmt::format("the plan's buffers hold {:.4g} bytes; the virtual device lends a plan {}", bytes,
                  lent),
      "buffers"};
}

// Grants a launch what its threads take to begin, look for work and end, whatever they compute.
std::uint64_t threads_budget(const ResolvedLaunch& launch) {
  constexpr std::uint64_t of_a_warp = 1024;
  const auto threads = static_cast<std::uint64_t>(launch.block[0]) *
                       static_cast<std::uint64_t>(launch.block[1]) *
                       static_cast<std::uint64_t>(launch.block[2]);
  return block_count(launch) * ((threads + 31) / 32) * of_a_warp;
}

Result<bool> PlanRun::launches(VirtualMemory& memory, When when, const LaunchRun& how,
                               CaseReport& report) const {
  for (const ResolvedLaunch& launch : plan.launches) {
    if (launch.when != when) continue;
    LaunchRun priced = how;
    priced.budget += threads_budget(launch);
    Attempt<ptx::Report> ran = run_launch(context, kernel, programs, memory, launch, priced);
    if (ran.is_error()) return ran.error();
    if (ran.is_rejected()) {
      report.faults.push_back(as_fault(ran.rejected()));
      return false;
    }
    for (const ptx::Fault& fault : ran->faults) {
      report.faults.push_back(
          {fault.code, fmt::format("{}: {}", launch.entry, fault.message), fault.where});
    }
    for (const ptx::Fault& one : ran->remarks)
      report.remarks.push_back(
          {one.code, fmt::format("{}: {}", launch.entry, one.message), one.where});
    if (how.count && when == When::run) {
      add_counts(report.counts, ran->counts);
    } else if (when == When::run) {
      report.counts[Counter::warp_instructions].value +=
          static_cast<double>(ran->warp_instructions);
    }
    if (!report.faults.empty()) return false;
  }
  return true;
}

Result<bool> PlanRun::set_up(VirtualMemory& memory, const Case& what, CaseReport& report) const {
  constexpr std::uint64_t untimed = 8;  // times the budget of a run
  LaunchRun how;
  how.budget = untimed * instruction_budget(task, what.workload);
  how.seed = launch_seed(what, 0);
  Result<bool> ran = launches(memory, When::setup, how, report);
  if (!ran || !*ran) return ran;
  const std::vector<Fault> changed = memory.changed_state();
  report.faults.insert(report.faults.end(), changed.begin(), changed.end());
  return changed.empty();
}

Result<bool> PlanRun::once(VirtualMemory& memory, const Case& what, int repeat,
                           CaseReport& report) const {
  const bool other = repeat % 2 == 1;
  const Poison poison = other == (what.poison == Poison::large) ? Poison::quiet_nan : Poison::large;
  if (Result<void> filled = memory.fill_tensors(context.inputs, poison); !filled)
    return filled.error();
  constexpr std::uint64_t seconds_of = 50'000'000;  // warp instructions that take some seconds
  LaunchRun how;
  how.budget = instruction_budget(task, what.workload);
  if (what.patience > 1)
    how.budget = std::max(
        how.budget, std::min(seconds_of, how.budget * static_cast<std::uint64_t>(what.patience)));
  how.count = what.count && repeat == 0;
  how.seed = launch_seed(what, repeat);
  // Some runs of a proof see asynchronous copies arrive at once, some as late as they may.
  how.late = (what.content.seed + static_cast<std::uint64_t>(what.content.kind) +
              static_cast<std::uint64_t>(repeat)) %
                 2 ==
             0;
  Result<bool> ran = launches(memory, When::run, how, report);
  if (!ran || !*ran) return ran;
  const std::vector<Fault> changed = memory.changed_state();
  report.faults.insert(report.faults.end(), changed.begin(), changed.end());
  const Result<std::vector<Fault>> gaps = memory.written_gaps(context.inputs);
  if (!gaps) return gaps.error();
  report.faults.insert(report.faults.end(), gaps->begin(), gaps->end());
  return true;
}

Attempt<KernelPrograms> KernelPrograms::parse(const CompiledKernel& kernel) {
  Attempt<ptx::Module> module = ptx::parse(kernel.ptx);
  if (!module) return module.failure();
  return KernelPrograms(std::make_shared<const ptx::Module>(std::move(*module)));
}

Attempt<ptx::Program*> KernelPrograms::program(const std::string& entry) {
  const auto known = programs_.find(entry);
  if (known != programs_.end()) return known->second.get();
  Attempt<ptx::ProgramPtr> made = ptx::make_program(module_, entry);
  if (!made) return made.failure();
  return (programs_[entry] = std::move(*made)).get();
}

void KernelPrograms::add(const std::string& entry, const ptx::Executed& executed) {
  EntryCoverage& known = coverage_[entry];
  known.entry = entry;
  const auto merge = [](std::vector<EntryCoverage::Part>& into, const auto& from) {
    into.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      into[i] = {from[i].line, std::max(into[i].times, from[i].times)};
  };
  merge(known.instructions, executed.instructions);
  merge(known.loops, executed.loops);
}

std::vector<EntryCoverage> KernelPrograms::coverage() const {
  std::vector<EntryCoverage> all;
  for (const auto& [entry, one] : coverage_) all.push_back(one);
  return all;
}

void add_counts(Counts& sum, const Counts& more) {
  for (std::size_t i = 0; i < counter_count; ++i) {
    if (more.all[i].how == CountHow::unknown) continue;
    sum.all[i].value += more.all[i].value;
    sum.all[i].low += more.all[i].low;
    sum.all[i].high += more.all[i].high;
    sum.all[i].how = std::max(sum.all[i].how, more.all[i].how);
  }
  sum.source = CounterSource::interpreted;
}

std::uint64_t instruction_budget(const Task& task, const Workload& workload) {
  double work = 4e6;
  if (const auto flops = textbook_flops(task, workload)) work += 4.0 * static_cast<double>(*flops);
  if (const auto bytes = compulsory_bytes(task, workload))
    work += 64.0 * static_cast<double>(*bytes);
  return static_cast<std::uint64_t>(std::min(work, 1e12));
}

Attempt<ptx::Report> run_launch(const VirtualContext& context, const CompiledKernel& kernel,
                                KernelPrograms& programs, VirtualMemory& memory,
                                const ResolvedLaunch& launch, const LaunchRun& how) {
  const EntryFacts* facts = find_entry(kernel, launch.entry);
  const ptx::Function* function = facts == nullptr ? nullptr : programs.module().entry(facts->name);
  if (function == nullptr)
    return reject("gate.missing_entry",
                  fmt::format("the compiled kernel has no entry {}", launch.entry));
  Attempt<ptx::Program*> program = programs.program(facts->name);
  if (!program) return program.failure();
  Result<std::vector<std::uint8_t>> parameters = memory.parameters(launch, *function);
  if (!parameters) return parameters.error();
  ptx::Launch order;
  order.grid = {side(launch.grid[0]), side(launch.grid[1]), side(launch.grid[2])};
  order.block = {side(launch.block[0]), side(launch.block[1]), side(launch.block[2])};
  order.dynamic_shared = side(launch.shared);
  order.parameters = std::move(*parameters);
  order.textures = memory.textures();
  order.cluster = {side(launch.cluster[0]), side(launch.cluster[1]), side(launch.cluster[2])};
  order.cooperative = launch.cooperative;
  order.registers = side(facts->registers);
  ptx::ExecuteOptions options;
  options.instruction_budget = how.budget;
  options.seed = how.seed;
  options.late = how.late;
  options.check_races = options.check_initialised = how.checks;
  options.spread_unchecked = how.trusted;
  options.count = how.count;
  options.by_instruction = how.by_instruction;
  options.products = how.products;
  options.note_loads = how.note_loads;
  options.note_stores = how.note_stores;
  options.blocks = how.blocks;
  const DeviceSpec& device = context.device;
  const int threads = launch.block[0] * launch.block[1] * launch.block[2];
  const int resident = resident_blocks(device, threads, std::max(facts->registers, 32),
                                       launch.shared + facts->static_shared);
  options.resident = static_cast<std::uint32_t>(std::max(1, resident * device.sms));
  options.max_shared = side(device.shared_per_block);
  options.max_threads = side(device.threads_per_block);
  options.sm_count = side(device.sms);
  options.stop = stop_flags();
  const ptx::CoreShare share;
  options.threads = share.threads();
  Attempt<ptx::Report> report = ptx::execute(**program, memory.device(), order, options);
  if (report && how.checks) programs.add(facts->name, report->executed);
  return report;
}

Result<CaseReport> run_case(const VirtualContext& context, const TaskRef& task,
                            const CompiledKernel& kernel, KernelPrograms& programs,
                            const Case& what, std::vector<TensorBytes>* left) {
  const auto begin = std::chrono::steady_clock::now();
  CaseReport report;
  report.what = what;
  Attempt<Resolution> resolution =
      resolve(kernel.source, task, what.workload, context.device, &kernel);
  if (resolution.is_error()) return resolution.error();
  if (resolution.is_rejected()) {
    report.faults.push_back(as_fault(resolution.rejected()));
  } else if (const auto* plan = std::get_if<ResolvedPlan>(&*resolution)) {
    if (auto refused = check_contract(kernel, task)) {
      report.faults.push_back(as_fault(*refused));
    } else if (what.sampled) {
      Result<bool> told = run_sampled({context, task, kernel, programs, *plan}, what, report);
      if (!told) return told.error();
      report.not_for_this_shape = !*told;
    } else if (Result<void> ran =
                   run_plan(context, task, kernel, programs, *plan, what, report, left);
               !ran) {
      return ran.error();
    }
  } else {
    report.not_for_this_shape = true;
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace cupilot
