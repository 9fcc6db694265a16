// A launch: its checks, and the report.
#include "ptx/machine/execute.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <cupilot/parts/rejection.hpp>

#include "ptx/machine/block.hpp"
#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::uint64_t max_host_bytes = 6ull << 30;

// As launched, else as the kernel requires it.
Dim3 cluster_of(const Program& program, const Launch& launch) {
  const Dim3& asked = launch.cluster;
  if (asked.x * asked.y * asked.z != 1) return asked;
  const std::vector<std::uint64_t> required =
      program.module->functions[program.codes[0].function].directive("reqnctapercluster");
  Dim3 out;
  std::uint32_t* sides[] = {&out.x, &out.y, &out.z};
  for (std::size_t i = 0; i < required.size() && i < 3; ++i)
    *sides[i] = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(required[i], 1, 1024));
  return out;
}

std::optional<Rejected> cluster_fault(const Program& program, const Launch& launch,
                                      const ExecuteOptions& options) {
  const Function& entry = program.module->functions[program.codes[0].function];
  const auto no = [&](std::string message) {
    return reject("run.launch", std::move(message), entry.name);
  };
  const Dim3 &g = launch.grid, &asked = launch.cluster, c = cluster_of(program, launch);
  const std::vector<std::uint64_t> required = entry.directive("reqnctapercluster");
  const std::uint32_t sides[] = {asked.x, asked.y, asked.z};
  const bool explicit_size = asked.x * asked.y * asked.z > 1;
  for (std::size_t i = 0; i < required.size() && i < 3; ++i) {
    if (explicit_size && required[i] != sides[i])
      return no("the cluster has not the size that the kernel requires");
  }
  const std::uint64_t size = std::uint64_t{c.x} * c.y * c.z;
  if (size == 0 || size > 16)
    return no(
        fmt::format("a cluster of {} x {} x {} blocks passes the limit of 16", c.x, c.y, c.z));
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0)
    return no(
        fmt::format("a grid of {} x {} x {} blocks is no multiple of its clusters of {} x {} x {}",
                    g.x, g.y, g.z, c.x, c.y, c.z));
  const std::uint64_t blocks = std::uint64_t{g.x} * g.y * g.z;
  if (launch.cooperative && blocks > std::max(1u, options.resident))
    return no(
        fmt::format("a cooperative grid of {} blocks does not fit the {} that are resident at once",
                    blocks, options.resident));
  return std::nullopt;
}

std::optional<Rejected> launch_fault(const Program& program, const Launch& launch,
                                     const ExecuteOptions& options) {
  const Function& entry = program.module->functions[program.codes[0].function];
  const auto no = [&](std::string message) {
    return reject("run.launch", std::move(message), entry.name);
  };
  const Dim3 &g = launch.grid, &b = launch.block;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0)
    return no("a grid or block of no threads");
  if (g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    return no(fmt::format("a grid of {} x {} x {} blocks passes the limits", g.x, g.y, g.z));
  if (auto fault = cluster_fault(program, launch, options)) return fault;
  const std::uint64_t threads = std::uint64_t{b.x} * b.y * b.z;
  if (b.x > 1024 || b.y > 1024 || b.z > 64 || threads > options.max_threads || threads > 1024) {
    return no(fmt::format("a block of {} x {} x {} threads passes the limit of {}", b.x, b.y, b.z,
                          options.max_threads));
  }
  std::uint64_t most = 1;
  for (std::uint64_t v : entry.directive("maxntid"))
    most = v != 0 && most <= 1024 ? most * v : most;
  if (!entry.directive("maxntid").empty() && threads > most) {
    return no(
        fmt::format("a block of {} threads passes the kernel's launch bound of {}", threads, most));
  }
  const std::vector<std::uint64_t> required = entry.directive("reqntid");
  const std::uint64_t asked[] = {b.x, b.y, b.z};
  for (std::size_t i = 0; i < required.size() && i < 3; ++i) {
    if (required[i] != asked[i]) return no("the block has not the size that the kernel requires");
  }
  const std::uint64_t shared =
      program.shared.device.dynamic_at + std::uint64_t{launch.dynamic_shared};
  if (shared > options.max_shared) {
    return no(fmt::format("{} bytes of shared memory a block pass the limit of {}", shared,
                          options.max_shared));
  }
  if (launch.parameters.size() != program.layout.bytes) {
    return no(fmt::format("{} bytes of parameters were given, the kernel takes {}",
                          launch.parameters.size(), program.layout.bytes));
  }
  const std::uint64_t warps = (threads + 31) / 32;
  const std::uint64_t held = program.shared.here.dynamic_at + std::uint64_t{launch.dynamic_shared};
  const std::uint64_t each =
      warps * (program.codes[0].frame_bytes + 64ull * program.codes[0].lane_bytes) + 9 * held;
  const std::uint64_t alive = std::max<std::uint64_t>(options.threads, options.resident);
  if (each * alive > max_host_bytes)
    return no(fmt::format("{} blocks at a time need more than {} bytes of host memory", alive,
                          max_host_bytes));
  return std::nullopt;
}

void add_traffic(LineTraffic& sum, const LineTraffic& more) {
  sum.requests += more.requests;
  sum.sectors += more.sectors;
  sum.wavefronts += more.wavefronts;
  sum.conflicts += more.conflicts;
  sum.divergences += more.divergences;
}

// A reader of counts wants them for the whole grid.
void fill_counts(Report& report, const Program& program, const std::vector<Worker>& workers,
                 std::uint64_t total_blocks) {
  std::array<double, counter_count> sum{};
  const auto add = [&](Counter c, double v) { sum[static_cast<std::size_t>(c)] += v; };
  std::uint64_t run = 0, kept = 0;
  std::vector<StepCount> steps(program.step_count);
  std::vector<LineTraffic> traffic(program.step_count);
  for (const Worker& w : workers) {
    for (std::size_t c = 0; c < counter_count; ++c) sum[c] += static_cast<double>(w.totals[c]);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].warps += w.counts[i].warps;
      steps[i].missing += w.counts[i].missing;
    }
    for (std::size_t i = 0; i < w.traffic.size(); ++i) add_traffic(traffic[i], w.traffic[i]);
    run += w.blocks;
    kept += w.kept_sectors;
    report.loaded.insert(report.loaded.end(), w.loaded.begin(), w.loaded.end());
    report.stored.insert(report.stored.end(), w.stored.begin(), w.stored.end());
  }
  for (const Code& code : program.codes) {
    for (std::size_t i = 0; i + 1 < code.steps.size(); ++i) {
      const StepCount& n = steps[code.first_count + i];
      if (n.warps == 0) continue;
      const std::uint64_t threads = 32 * n.warps - n.missing;
      add(Counter::warp_instructions, static_cast<double>(n.warps));
      const Work& w = code.work[i];
      if (w.counter != Counter::count_) {
        const double live_warps = w.per_warp == 0 ? 0 : static_cast<double>(threads) / 32;
        add(w.counter, static_cast<double>(threads) * w.per_thread + live_warps * w.per_warp);
        if (w.also != Counter::count_)
          add(w.also, static_cast<double>(threads) * w.also_per_thread);
      }
      report.lines.push_back({code.function, static_cast<std::uint32_t>(i), n.warps, threads,
                              traffic[code.first_count + i]});
    }
  }
  add(Counter::issue_slots, sum[static_cast<std::size_t>(Counter::warp_instructions)] +
                                sum[static_cast<std::size_t>(Counter::shared_conflicts)]);
  add(Counter::blocks, static_cast<double>(run));
  add(Counter::l2_bytes, 32 * (sum[static_cast<std::size_t>(Counter::global_load_sectors)] +
                               sum[static_cast<std::size_t>(Counter::global_store_sectors)] -
                               static_cast<double>(kept)));
  const bool whole = run == total_blocks;
  const double scale = run == 0 ? 0 : static_cast<double>(total_blocks) / static_cast<double>(run);
  for (std::size_t c = 0; c < counter_count; ++c) {
    const auto counter = static_cast<Counter>(c);
    if (counter == Counter::dram_read_bytes || counter == Counter::dram_write_bytes) continue;
    Count& out = report.counts[counter];
    out = {sum[c] * scale, whole ? sum[c] : std::min(sum[c], sum[c] * scale), sum[c] * scale,
           whole ? CountHow::exact : CountHow::sampled};
    // The first level may hold none of the sectors asked for, or more.
    if (counter == Counter::l2_bytes)
      out = {out.value, 0, out.high + 32 * static_cast<double>(kept) * scale, CountHow::estimated};
  }
  report.counts.source = CounterSource::interpreted;
  report.blocks_run = run;
}

}  // namespace

namespace {

// True if the branch lies in a loop.
bool is_looped(const Program& program, const LoopBranch& branch) {
  return std::any_of(program.loops.begin(), program.loops.end(), [&](const LoopBranch& loop) {
    return loop.back() && loop.function == branch.function && loop.target <= branch.instruction &&
           branch.instruction <= loop.instruction;
  });
}

// True if the instruction after it is reached by branches alone.
bool goes_elsewhere(const Program& program, const Instruction& instruction) {
  const Opcode opcode = program.module->form(instruction).opcode;
  return instruction.guard == none_index && (opcode == Opcode::op_bra || opcode == Opcode::op_brx ||
                                             opcode == Opcode::op_ret || opcode == Opcode::op_exit);
}

// Says of sides of branches in loops the most that a warp went there, where the text before does
// not lead: of several sides that lead to one place, that which led most often.
void tell_sides(const Program& program, std::span<const std::uint32_t> most, Executed& out) {
  std::size_t first = 0;
  for (const Code& code : program.codes) {
    const auto& instructions = program.module->functions[code.function].instructions;
    std::map<std::uint32_t, std::uint32_t> told;
    for (std::size_t k = 0; k < program.loops.size(); ++k) {
      const LoopBranch& side = program.loops[k];
      if (side.function != code.function || side.back() || side.target + 1 >= code.steps.size())
        continue;
      const Instruction& before = instructions[side.target - 1];
      const bool only = side.target == side.instruction + 1 || goes_elsewhere(program, before);
      if (!only || out.instructions[first + side.target].times == 0 || !is_looped(program, side))
        continue;
      std::uint32_t& times = told[side.target];
      times = std::max({times, most[k], 1u});
    }
    for (const auto& [target, times] : told) out.instructions[first + target].times = times;
    first += code.steps.size() - 1;
  }
}

Executed executed_of(const Program& program, const std::vector<Worker>& workers) {
  Executed out;
  const auto line = [&](std::uint32_t function, std::size_t instruction) {
    return program.module->functions[function].instructions[instruction].line;
  };
  for (const Code& code : program.codes) {
    for (std::size_t i = 0; i + 1 < code.steps.size(); ++i) {
      const bool ran = std::any_of(workers.begin(), workers.end(), [&](const Worker& worker) {
        const StepCount& count = worker.counts[code.first_count + i];
        return 32 * count.warps > count.missing;
      });
      out.instructions.push_back({line(code.function, i), ran ? std::uint32_t{most_rounds} : 0u});
    }
  }
  std::vector<std::uint32_t> most(program.loops.size());
  for (std::size_t k = 0; k < program.loops.size(); ++k) {
    const LoopBranch& loop = program.loops[k];
    for (const Worker& worker : workers)
      most[k] = std::max<std::uint32_t>(most[k], worker.rounds[k]);
    if (loop.back())
      out.loops.push_back({line(loop.function, loop.instruction), std::min(most[k], 2u)});
  }
  tell_sides(program, most, out);
  return out;
}

Fault fault_of(const Warp& warp, const Code& code, const Step& step, std::uint32_t lane,
               const char* name, std::string message) {
  const Block& block = *warp.block;
  const Module& module = *block.program->module;
  const Function& function = module.functions[code.function];
  Fault out;
  out.code = name;
  out.message = std::move(message);
  out.block = block.index;
  out.thread = warp.index * 32 + lane;
  const Dim3& b = block.launch->launch->block;
  out.where = fmt::format("block ({},{},{}) thread ({},{},{})", block.position.x, block.position.y,
                          block.position.z, out.thread % b.x, out.thread / b.x % b.y,
                          out.thread / (b.x * b.y));
  if (step.instruction >= function.instructions.size()) return out;
  const Instruction& ins = function.instructions[step.instruction];
  out.ptx_line = ins.line;
  out.source_line = ins.source_line;
  out.where += fmt::format(", ptx line {} ({})", ins.line, module.form(ins).text);
  if (ins.source_line != 0) {
    const std::string_view path = module.file(ins.source_file);
    out.where += fmt::format(", {}:{}", path.substr(path.rfind('/') + 1), ins.source_line);
  }
  return out;
}

void record(Warp& warp, const Code& code, const Step& step, std::uint32_t lane, const char* name,
            std::string message) {
  LaunchContext& launch = *warp.block->launch;
  const std::lock_guard<std::mutex> hold(launch.lock);
  if (launch.faults.size() < launch.options->max_faults)
    launch.faults.push_back(fault_of(warp, code, step, lane, name, std::move(message)));
  if (launch.parallel || launch.faults.size() >= launch.options->max_faults) launch.halt = true;
}

}  // namespace

void remark(Warp& warp, const Step& step, std::uint32_t lane, const char* code, std::string message,
            Kept kept) {
  LaunchContext& launch = *warp.block->launch;
  const std::lock_guard<std::mutex> hold(launch.lock);
  const auto known = std::find_if(launch.remarks.begin(), launch.remarks.end(),
                                  [&](const Fault& one) { return one.code == code; });
  if (known == launch.remarks.end()) {
    launch.remarks.push_back(fault_of(warp, *warp.code, step, lane, code, std::move(message)));
  } else if (kept == Kept::last) {
    *known = fault_of(warp, *warp.code, step, lane, code, std::move(message));
  }
}

void settle_suspect(Block& block) {
  const Suspect suspect = std::exchange(block.suspect, {});
  if (suspect.warp == nullptr) return;
  block.faulted = true;
  suspect.warp->stop = true;
  record(*suspect.warp, *suspect.code, *suspect.step, suspect.lane, "run.uninitialised",
         suspect.message);
}

void fault(Warp& warp, const Step& step, std::uint32_t lane, const char* code,
           std::string message) {
  Block& block = *warp.block;
  warp.stop = true;
  // A fault after a read of nothing is its consequence, but for the race that explains it.
  if (std::string_view(code) == "run.race") block.suspect = {};
  if (block.suspect.warp != nullptr) return settle_suspect(block);
  block.faulted = true;
  record(warp, *warp.code, step, lane, code, std::move(message));
}

void fault_here(Warp& warp, const char* code, std::string message) {
  const auto last = static_cast<std::uint32_t>(warp.code->steps.size() - 2);
  const std::uint32_t pc = warp.state == WarpState::waiting ? warp.pc - 1 : warp.pc;
  const std::uint32_t lane =
      warp.active != 0 ? static_cast<std::uint32_t>(__builtin_ctz(warp.active)) : 0;
  fault(warp, warp.steps[std::min(pc, last)], lane, code, std::move(message));
}

Attempt<Report> execute(Program& program, DeviceMemory& memory, const Launch& launch,
                        const ExecuteOptions& options) {
  if (auto fault = launch_fault(program, launch, options)) return *fault;
  LaunchContext context;
  context.program = &program;
  context.memory = &memory;
  context.launch = &launch;
  context.options = &options;
  context.threads = launch.block.x * launch.block.y * launch.block.z;
  context.warps = (context.threads + 31) / 32;
  context.shared_bytes = program.shared.here.bytes(launch.dynamic_shared);
  context.device_shared = program.shared.device.bytes(launch.dynamic_shared);
  context.budget =
      static_cast<std::int64_t>(std::min<std::uint64_t>(options.instruction_budget, 1ull << 62));
  context.cluster = cluster_of(program, launch);
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (std::uint64_t block : options.blocks) {
    if (block >= blocks)
      return Error{ErrorCode::failure,
                   fmt::format("block {} lies outside a grid of {}", block, blocks),
                   "choose blocks of the grid"};
  }
  memory.begin_launch();
  if (options.check_races) {
    memory.watch_threads(program.global_shift);
  } else {
    memory.forget_threads();
  }
  const std::vector<Worker> workers = run_blocks(context);
  if (context.stopped) return stopped_error();

  Report report;
  report.faults = std::move(context.faults);
  report.remarks = std::move(context.remarks);
  report.independent = context.independent;
  report.stuck = context.stuck;
  report.dependence = context.dependence;
  report.threads = static_cast<std::uint32_t>(workers.size());
  report.local_bytes = static_cast<std::uint32_t>(program.local_bytes);
  for (const Worker& w : workers) {
    report.warp_instructions += w.instructions;
    report.blocks_run += w.blocks;
  }
  if (options.count) fill_counts(report, program, workers, blocks);
  if (options.check_races) report.executed = executed_of(program, workers);
  return report;
}

Rejected rejection_of(const Report& report) {
  if (report.faults.empty()) return reject("run.unsupported", "the launch had no fault");
  const Fault& first = report.faults.front();
  return reject(first.code, first.message, first.where);
}

bool is_unended(const Report& report) {
  if (report.faults.empty()) return false;
  const std::string& code = report.faults.front().code;
  return code == "run.budget" || code == "run.hang";
}

}  // namespace cupilot::ptx
