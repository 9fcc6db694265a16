#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/checker_power.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "kernel_files.hpp"
#include "screens/json_out.hpp"
#include "screens/say.hpp"
#include "screens/verify.hpp"

namespace cupilot::cli {
namespace {

// Checks a kernel whose task nobody stated: it compiles, passes the gate and, as far
// as its plan needs no tensor, runs without a fault.
int verify_safety(Backend& backend, const OwnKernel& kernel, bool json) {
  const Attempt<CompiledKernel> compiled = backend.compile(kernel.source, Fresh::yes);
  if (compiled.is_error()) return fail(compiled.error(), json);
  if (compiled.is_rejected()) return say_refused(kernel, compiled.rejected(), backend, json);
  const Task nothing;
  const Case one{};
  const Result<TrialReport> report = backend.run(TaskRef(nothing), *compiled, {&one, 1});
  if (!report) return fail(report.error(), json);
  for (const CaseReport& result : report->cases) {
    if (result.faults.empty()) continue;
    const Fault& fault = result.faults.front();
    return say_refused(kernel, {Stage::run, fault.code, fault.message, fault.where}, backend, json);
  }
  if (json) {
    say(R"({"outcome": "safe", "ran": true, "correctness": "not proved: no task was stated"})");
    return 0;
  }
  say(fmt::format("SAFE on {}: compiled, gated, ran without a fault", backend.identity()));
  say("  correctness was NOT proved: no task was stated. Say it with --task, or in the file's `// "
      "cupilot:` header");
  return 0;
}

}  // namespace

int verify_command(const KernelFlags& flags) {
  Result<std::unique_ptr<Backend>> backend = open_proving_device(flags.common.device, "verify");
  if (!backend) return fail(backend.error(), flags.common.json);
  Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags, (*backend)->device());
  if (!kernel) return fail(kernel.error(), flags.common.json);
  if (!kernel->task) return verify_safety(**backend, *kernel, flags.common.json);
  Result<std::unique_ptr<Backend>> screen =
      flags.screen ? open_screen(**backend, backend_options()) : std::unique_ptr<Backend>();
  if (!screen) return fail(screen.error(), flags.common.json);

  const Result<PowerReport> power =
      check_power(TaskRef(*kernel->task), *screen ? **screen : **backend);
  if (!power && power.error().code != ErrorCode::no_device)
    return fail(power.error(), flags.common.json);

  const Pipe pipe{TaskRef(*kernel->task), backend->get(), nullptr, flags.seed, screen->get()};
  const Result<Candidate> candidate = evaluate_source(pipe, kernel->source, ProofLevel::finalist);
  if (!candidate) return fail(candidate.error(), flags.common.json);
  if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) {
    return say_refused(*kernel, *rejected, **backend, flags.common.json);
  }
  const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
  if (accepted == nullptr)
    return fail({ErrorCode::failure, std::get<Lost>(candidate->outcome).reason, "run it again"},
                flags.common.json);
  if (flags.common.json) {
    say(candidate_json(*candidate));
  } else {
    std::vector<std::string> lacking;
    for (const std::string& notice : (*backend)->traits().notices) {
      if (notice.starts_with("no ")) lacking.push_back(notice);
    }
    std::string text =
        proved_screen(*kernel, *candidate, *accepted, (*backend)->identity(), lacking);
    text.pop_back();
    say(text);
  }
  return 0;
}

}  // namespace cupilot::cli
