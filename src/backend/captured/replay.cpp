#include <cupilot/parts/capture.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/rejection.hpp>
#include <cupilot/rng.hpp>

#include "backend/captured/compare.hpp"
#include "backend/captured/launch_memory.hpp"
#include "backend/captured/launch_text.hpp"
#include "base/stop.hpp"
#include "ptx/machine/core_share.hpp"
#include "ptx/machine/machine.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t most_blocks_drawn = 1024;
constexpr std::uint64_t of_one_block = 200'000'000;  // warp instructions
constexpr int fallback_sms = 132;
constexpr std::uint32_t fallback_shared = 232448;

LaunchReplay not_done(std::string reason, std::string next) {
  LaunchReplay out;
  out.reason = std::move(reason);
  out.next = std::move(next);
  return out;
}

LaunchReplay refused(Rejected fault) {
  // The interpreter lacks something: that judges no kernel.
  if (fault.code == "run.unsupported" || fault.code == "run.budget" ||
      fault.code == "gate.ptx_syntax")
    return not_done(fault.message + (fault.where.empty() ? "" : " at " + fault.where),
                    "the launch stays in the capture");
  LaunchReplay out;
  out.outcome = ReplayOutcome::refused;
  out.fault = std::move(fault);
  return out;
}

// Floating-point types of the kernel's instructions.
std::vector<FloatType> float_types(const ptx::Program& program) {
  std::set<std::string> met;
  for (const ptx::Function* function : functions_of(program)) {
    for (const ptx::Instruction& one : function->instructions) {
      const ptx::Form& form = program.module->form(one);
      met.insert(form.modifiers.begin(), form.modifiers.end());
    }
  }
  const auto has = [&](const char* name) {
    return met.contains(name) || met.contains(std::string(name) + "x2");
  };
  std::vector<FloatType> out;
  if (has("f64")) out.push_back(FloatType::f64);
  if (has("f32")) out.push_back(FloatType::f32);
  if (has("f16")) out.push_back(FloatType::f16);
  if (has("bf16")) out.push_back(FloatType::bf16);
  return out;
}

// Names a variable of the module that the entry uses and whose content was not kept; "": none.
// `filled_later`: only one that no initialiser fills.
std::string unknown_variable(const ptx::Program& program, const CapturedLaunch& launch,
                             bool filled_later) {
  for (const ptx::Function* function : functions_of(program)) {
    for (const ptx::Operand& one : function->operands) {
      const bool names =
          one.kind == ptx::OperandKind::variable ||
          (one.kind == ptx::OperandKind::address && one.base == ptx::OperandKind::variable);
      if (!names) continue;
      const ptx::Variable& variable = program.module->variables[one.index];
      if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
      const bool known = std::any_of(launch.variables.begin(), launch.variables.end(),
                                     [&](const auto& kept) { return kept.name == variable.name; });
      if (!known && !(filled_later && !variable.initial.empty())) return variable.name;
    }
  }
  return "";
}

// Gives the module's variables the content that they had before the launch.
Result<void> set_variables(ptx::Module& module, const Capture& capture,
                           const CapturedLaunch& launch) {
  for (const CapturedVariable& kept : launch.variables) {
    for (ptx::Variable& variable : module.variables) {
      if (variable.name != kept.name || variable.bytes != kept.bytes) continue;
      const Result<std::string> content = real_host().read_file(capture.folder + "/" + kept.before);
      if (!content) return content.error();
      variable.initial.assign(content->begin(), content->end());
      variable.symbolic_initial = false;
    }
  }
  return {};
}

// One launch, made ready to run any number of times.
class Replayer {
 public:
  Replayer(const Capture& capture, const CapturedLaunch& launch, const LaunchReplayOptions& options,
           ptx::Program& program, LaunchMemory& memory)
      : launch_(launch), options_(options), program_(program), memory_(memory) {
    const auto device = capture.devices.find(launch.device);
    if (device != capture.devices.end()) device_ = device->second;
    blocks_ = static_cast<std::uint64_t>(launch.grid[0] * launch.grid[1] * launch.grid[2]);
  }

  Result<LaunchReplay> judge();

 private:
  ptx::Launch order() const;
  Attempt<ptx::Report> run(std::vector<std::uint64_t> blocks, std::uint64_t budget,
                           std::uint64_t seed);
  // Blocks to run: empty for all of them. nullopt: `out` holds the verdict already.
  Result<std::optional<std::vector<std::uint64_t>>> choose(LaunchReplay& out);
  std::vector<std::uint64_t> draw(std::uint64_t count) const;
  // Judges a run by itself; nullopt: it met no fault.
  Result<std::optional<LaunchReplay>> fault_of(const Attempt<ptx::Report>& ran) const;
  Result<void> compare(const ptx::Report& report, LaunchReplay& out);
  void judge_difference(const LaunchMemory::Part& part, const BufferDifference& difference,
                        LaunchReplay& out) const;

  const CapturedLaunch& launch_;
  const LaunchReplayOptions& options_;
  ptx::Program& program_;
  LaunchMemory& memory_;
  CapturedDevice device_{};
  std::uint64_t blocks_ = 0;
};

ptx::Dim3 dim3(const std::array<std::int64_t, 3>& of) {
  return {static_cast<std::uint32_t>(of[0]), static_cast<std::uint32_t>(of[1]),
          static_cast<std::uint32_t>(of[2])};
}

ptx::Launch Replayer::order() const {
  ptx::Launch out;
  out.grid = dim3(launch_.grid);
  out.block = dim3(launch_.block);
  out.cluster = dim3(launch_.cluster);
  out.cooperative = launch_.cooperative;
  out.dynamic_shared = static_cast<std::uint32_t>(launch_.shared);
  out.parameters = launch_.arguments;
  // The driver tells arguments up to the last one's end.
  constexpr std::size_t padding = 16;
  const std::size_t bytes = program_.layout.bytes;
  if (bytes > out.parameters.size() && bytes - out.parameters.size() < padding)
    out.parameters.resize(bytes);
  return out;
}

Attempt<ptx::Report> Replayer::run(std::vector<std::uint64_t> blocks, std::uint64_t budget,
                                   std::uint64_t seed) {
  if (auto filled = memory_.fill(); !filled) return filled.error();
  ptx::ExecuteOptions how;
  how.instruction_budget = budget;
  how.seed = seed;
  how.late = seed % 2 == 1;
  how.count = false;
  how.blocks = std::move(blocks);
  how.sm_count = static_cast<std::uint32_t>(device_.sms > 0 ? device_.sms : fallback_sms);
  how.resident = launch_.cooperative
                     ? static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks_, 1u << 20))
                     : how.sm_count;
  how.alone = false;
  how.max_shared =
      device_.shared > 0 ? static_cast<std::uint32_t>(device_.shared) : fallback_shared;
  how.stop = stop_flags();
  const ptx::CoreShare share;
  how.threads = share.threads();
  return ptx::execute(program_, memory_.device(), order(), how);
}

std::vector<std::uint64_t> Replayer::draw(std::uint64_t count) const {
  std::set<std::uint64_t> chosen = {0, blocks_ - 1};
  Rng rng = Rng::of(1, "replay", static_cast<std::uint64_t>(launch_.number), blocks_);
  while (chosen.size() < std::min(count, blocks_)) chosen.insert(rng.next() % blocks_);
  return {chosen.begin(), chosen.end()};
}

Result<std::optional<LaunchReplay>> Replayer::fault_of(const Attempt<ptx::Report>& ran) const {
  if (ran.is_error()) return ran.error();
  if (ran.is_rejected()) return std::optional(refused(ran.rejected()));
  if (const std::string missed = memory_.missed(); !missed.empty())
    return std::optional(not_done("it reaches memory that the capture left out: " + missed,
                                  "capture with more --megabytes"));
  if (ran->faults.empty()) return std::optional<LaunchReplay>();
  return std::optional(refused(ptx::rejection_of(*ran)));
}

Result<std::optional<std::vector<std::uint64_t>>> Replayer::choose(LaunchReplay& out) {
  std::vector<std::uint64_t> all;
  if (blocks_ <= 1 || launch_.cooperative) return std::optional(all);
  const Attempt<ptx::Report> first = run({0}, of_one_block, 0);
  // A block may wait for others: the whole grid tells.
  if (first && ptx::is_unended(*first)) return std::optional(all);
  auto fault = fault_of(first);
  if (!fault) return fault.error();
  if (*fault) {
    out = std::move(**fault);
    return std::optional<std::vector<std::uint64_t>>();
  }
  const std::uint64_t ran = std::max<std::uint64_t>(1, first->blocks_run);
  const std::uint64_t each = std::max<std::uint64_t>(1, first->warp_instructions / ran);
  if (each * blocks_ <= options_.instructions) return std::optional(all);
  const std::uint64_t count = options_.instructions / each;
  return std::optional(draw(std::clamp<std::uint64_t>(count, 2, most_blocks_drawn)));
}

void Replayer::judge_difference(const LaunchMemory::Part& part, const BufferDifference& difference,
                                LaunchReplay& out) const {
  if (difference.bytes == 0) return;
  out.type = name_of(difference.type);
  if (difference.rounded) {
    out.ulps = std::max(out.ulps, difference.ulps);
    if (out.outcome != ReplayOutcome::differs) out.outcome = ReplayOutcome::rounded;
    return;
  }
  if (out.outcome == ReplayOutcome::differs) return;
  out.outcome = ReplayOutcome::differs;
  const std::string& name = memory_.device()[part.index].name;
  out.reason = fmt::format("{} bytes of {} differ, the first at offset {}: {}", difference.bytes,
                           name, difference.first, difference.words);
}

Result<void> Replayer::compare(const ptx::Report& report, LaunchReplay& out) {
  const bool whole = out.blocks_run == out.blocks;
  const ptx::DeviceMemory& memory = memory_.device();
  const std::vector<FloatType> types = float_types(program_);
  const bool depends = !report.independent || program_.updates_global;
  bool compared = false;
  for (const LaunchMemory::Part& part : memory_.kept()) {
    const ptx::Buffer& buffer = memory[part.index];
    const auto wrote = [&](std::uint64_t word) {
      return (buffer.state[word] & ~ptx::whole_word) != 0;
    };
    for (std::uint64_t word = 0; word < (buffer.bytes + 3) / 4; ++word)
      out.written += wrote(word) ? 4 : 0;
    if (part.buffer->after.empty() || (!whole && depends)) continue;
    const Result<std::string> after = memory_.content_after(part);
    if (!after) return after.error();
    const auto* devices = reinterpret_cast<const std::uint8_t*>(after->data());
    const auto wanted = [&](std::uint64_t word) { return whole || wrote(word); };
    judge_difference(
        part, compare_left(memory.data(part.index), {devices, after->size()}, wanted, types), out);
    compared = true;
  }
  if (!compared && !memory_.kept().empty()) {
    out.outcome = ReplayOutcome::safe;
    out.reason = !whole && depends ? "its blocks build on each other, and not all of them ran"
                                   : "no content after the launch was kept";
  }
  return {};
}

Result<LaunchReplay> Replayer::judge() {
  LaunchReplay out;
  auto blocks = choose(out);
  if (!blocks) return blocks.error();
  if (!*blocks) return out;
  for (int seed = 0; seed < options_.orders; ++seed) {
    const Attempt<ptx::Report> ran =
        run(**blocks, 8 * options_.instructions, static_cast<std::uint64_t>(seed));
    auto fault = fault_of(ran);
    if (!fault) return fault.error();
    if (*fault) return std::move(**fault);
    if (seed > 0) continue;
    out.outcome = ReplayOutcome::same;
    out.blocks = static_cast<std::int64_t>(blocks_);
    out.blocks_run = static_cast<std::int64_t>(ran->blocks_run);
    if (launch_.ended && launch_.result == 0) {
      if (auto compared = compare(*ran, out); !compared) return compared.error();
    }
  }
  if (launch_.ended && launch_.result == 0) return out;
  out.outcome = ReplayOutcome::not_done;
  out.reason =
      launch_.ended
          ? "the device reported " + launch_.result_name + ", and the replay meets no fault"
          : "the program ended before the launch did, and the replay meets no fault";
  out.next = "the fault may come of an earlier launch, or lie within one allocation";
  return out;
}

}  // namespace

Result<LaunchReplay> replay_launch(const Capture& capture, const CapturedLaunch& launch,
                                   const LaunchReplayOptions& options) {
  const auto module = capture.modules.find(launch.module);
  if (module == capture.modules.end())
    return not_done("its module was loaded where capture does not see it",
                    "the launch and its buffers stay in the capture");
  auto text = text_for(capture, module->second, launch);
  if (!text) {
    if (text.error().code != ErrorCode::not_done) return std::move(text.error());
    return not_done(text.error().message, text.error().hint);
  }
  if (!*text)
    return not_done("its module holds machine code and no PTX, which is what the replay reads",
                    "build it with PTX (-gencode arch=compute_90,code=compute_90); the launch and "
                    "its buffers stay in the capture");
  Attempt<ptx::Module> parsed = ptx::parse((*text)->text);
  if (parsed.is_error()) return parsed.error();
  if (parsed.is_rejected()) return refused(parsed.rejected());
  if (parsed->entry(launch.entry) == nullptr)
    return not_done("the module's PTX has no entry " + launch.entry,
                    "the launch and its buffers stay in the capture");
  if (auto set = set_variables(*parsed, capture, launch); !set) return set.error();
  Attempt<ptx::ProgramPtr> program =
      ptx::make_program(std::make_shared<const ptx::Module>(std::move(*parsed)), launch.entry);
  if (program.is_error()) return program.error();
  if (program.is_rejected()) return refused(program.rejected());
  if (takes_maps(**program))
    return not_done("it takes a tensor map, whose bytes are the driver's own",
                    "prove such a kernel with a launch plan: docs/formats/launch-plan.md");
  if (const std::string use = texture_use(**program); !use.empty())
    return not_done(fmt::format("it takes a texture or surface ({}), whose object and array a "
                                "capture does not hold",
                                use),
                    "prove such a kernel with a launch plan: docs/formats/launch-plan.md");
  auto memory = LaunchMemory::make(capture, launch);
  if (!memory) {
    if (memory.error().code != ErrorCode::not_done) return std::move(memory.error());
    return not_done(memory.error().message, memory.error().hint);
  }
  Result<LaunchReplay> out = Replayer(capture, launch, options, **program, *memory).judge();
  if (!out) return out;
  const std::string unknown =
      unknown_variable(**program, launch, out->outcome == ReplayOutcome::refused);
  if (out->outcome == ReplayOutcome::differs && !unknown.empty()) {
    out->outcome = ReplayOutcome::safe;
    out->reason = "the content of " + unknown + " at the launch is unknown: " + out->reason;
  }
  if (out->outcome == ReplayOutcome::refused && !unknown.empty())
    out->notice = "the content of " + unknown + " at the launch is unknown: zeros stood in";
  const auto device = capture.devices.find(launch.device);
  if (device != capture.devices.end() && (*text)->arch > device->second.capability)
    out->notice +=
        fmt::format("{}the module's PTX is for sm_{}: the device ran machine code of its own",
                    out->notice.empty() ? "" : "; ", (*text)->arch);
  out->ptx = std::move((*text)->text);
  return out;
}

}  // namespace cupilot
