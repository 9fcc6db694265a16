#include <cstdio>

#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/checker_power.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/program.hpp>
#include <cupilot/parts/program_strategy.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "fastest_fit.hpp"
#include "kernel_files.hpp"
#include "own_strategy.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"
#include "screens/verify.hpp"

namespace cupilot::cli {
namespace {

// Checks a kernel without a task: it compiles, passes the gate and, as far as its plan needs no
// tensor, runs without a fault, once with each of so many seeds.
int verify_safety(Backend& backend, const OwnKernel& kernel, int seeds, bool json) {
  const Attempt<CompiledKernel> compiled = backend.compile(kernel.source, Fresh::yes);
  if (compiled.is_error()) return fail(compiled.error(), json);
  if (compiled.is_rejected()) return say_refused(kernel, compiled.rejected(), backend, json);
  const Task nothing;
  std::vector<Case> cases(static_cast<std::size_t>(seeds));
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].content.seed += i;
  const Result<TrialReport> report = backend.run(TaskRef(nothing), *compiled, cases);
  if (!report) return fail(report.error(), json);
  for (const CaseReport& result : report->cases) {
    if (result.faults.empty()) continue;
    const Fault& fault = result.faults.front();
    if (fault.code == "plan.name" && kernel.task)
      return fail({ErrorCode::usage,
                   kernel.path + ": its plan names sizes of a task, and sanitize takes none: " +
                       fault.message,
                   "prove it with `cupilot verify`, or give a plan of numbers by --launch"},
                  json);
    return say_refused(kernel, {Stage::run, fault.code, fault.message, fault.where}, backend, json);
  }
  if (json) {
    say(R"({"outcome": "safe", "ran": true, "correctness": "not proved: no task was stated"})");
    return 0;
  }
  say(fmt::format("SAFE on {}: compiled, gated, ran without a fault", backend.identity()));
  say("  correctness was NOT proved: no task was stated. `cupilot verify` proves it: say the task "
      "with --task, or in the file's `// cupilot:` header");
  return 0;
}

// Returns the outcome of the kernel.
int say_verified(const OwnKernel& kernel, const Result<Candidate>& candidate, Backend& backend,
                 bool json) {
  if (!candidate) return fail(candidate.error(), json);
  if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome))
    return say_refused(kernel, *rejected, backend, json);
  const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
  if (accepted == nullptr)
    return fail({ErrorCode::failure, std::get<Lost>(candidate->outcome).reason, "run it again"},
                json);
  if (json) {
    say(candidate_json(*candidate));
    return 0;
  }
  std::vector<std::string> lacking;
  for (const std::string& notice : backend.traits().notices) {
    if (notice.starts_with("no ")) lacking.push_back(notice);
  }
  std::string text = proved_screen(kernel, *candidate, *accepted, backend.identity(), lacking);
  text.pop_back();
  say(text);
  return 0;
}

// Proves the kernel, or the program of several, that templates write from a strategy's file.
int verify_strategy(Backend& backend, const KernelFlags& flags) {
  const std::string& path = flags.files.front();
  const bool json = flags.common.json;
  const Result<OwnStrategy> own = open_strategy(path, flags, backend.device());
  if (!own) return fail(own.error(), json);
  Result<std::unique_ptr<Backend>> screen =
      flags.screen ? open_screen(backend, backend_options()) : std::unique_ptr<Backend>();
  if (!screen) return fail(screen.error(), json);
  if (!own->found_at.empty()) {
    const auto fastest = fastest_fit(backend, *own, flags.seed, screen->get());
    const bool none = !fastest && (fastest.error().code == ErrorCode::no_candidate ||
                                   fastest.error().code == ErrorCode::budget);
    // Without one the strategy itself says why.
    if (!none) {
      if (fastest) note_taken(*own, fastest->strategy);
      return say_verified({path, fastest ? fastest->source : KernelSource(), own->task}, fastest,
                          backend, json);
    }
  }
  const auto writer = program_writer(own->task, own->families);
  const Pipe pipe{TaskRef(own->task), &backend, writer.get(), flags.seed, screen->get()};
  const Result<Candidate> candidate = evaluate(pipe, own->strategy, ProofLevel::finalist);
  OwnKernel kernel{path, candidate ? candidate->source : KernelSource(), own->task};
  return say_verified(kernel, candidate, backend, json);
}

OwnRules rules_of(const KernelFlags& flags) { return {.leave_others_out = !flags.entry.empty()}; }

}  // namespace

int sanitize_command(const KernelFlags& flags) {
  constexpr int seeds = 8;  // orders of blocks, warps and lanes; what nobody wrote
  const bool json = flags.common.json;
  if (is_capture(flags.files.front())) return judge_capture(flags, seeds);
  Result<std::unique_ptr<Backend>> backend =
      open_own_device(flags.common.device, "sanitize", rules_of(flags));
  if (!backend) return fail(backend.error(), json);
  const Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags, (*backend)->device());
  if (!kernel) return fail(kernel.error(), json);
  const Ticker waiting = tell_waits("running " + kernel->path);
  return verify_safety(**backend, *kernel, seeds, json);
}

int verify_command(const KernelFlags& flags) {
  if (is_capture(flags.files.front())) return judge_capture(flags, 1);
  Result<std::unique_ptr<Backend>> backend =
      open_own_device(flags.common.device, "verify", rules_of(flags));
  if (!backend) return fail(backend.error(), flags.common.json);
  const Ticker waiting = tell_waits("proving " + flags.files.front());
  if (is_strategy(flags.files.front())) return verify_strategy(**backend, flags);
  Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags, (*backend)->device());
  if (!kernel) return fail(kernel.error(), flags.common.json);
  if (!kernel->task) return verify_safety(**backend, *kernel, 1, flags.common.json);
  Result<std::unique_ptr<Backend>> screen =
      flags.screen ? open_screen(**backend, backend_options()) : std::unique_ptr<Backend>();
  if (!screen) return fail(screen.error(), flags.common.json);

  const Result<PowerReport> power =
      check_power(TaskRef(*kernel->task), *screen ? **screen : **backend);
  if (!power && power.error().code != ErrorCode::no_device)
    return fail(power.error(), flags.common.json);

  const Pipe pipe{TaskRef(*kernel->task), backend->get(), nullptr, flags.seed, screen->get()};
  const Result<Candidate> candidate = evaluate_source(pipe, kernel->source, ProofLevel::finalist);
  return say_verified(*kernel, candidate, **backend, flags.common.json);
}

}  // namespace cupilot::cli
