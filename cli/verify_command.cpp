#include <fmt/format.h>

#include <cupilot/evolve.hpp>
#include <cupilot/rejection.hpp>

#include "commands.hpp"
#include "json_out.hpp"
#include "kernel_files.hpp"
#include "say.hpp"

namespace cupilot::cli {
namespace {

constexpr int refused_exit = static_cast<int>(ErrorCode::refused);

int refused(const Rejected& rejected, bool json) {
  if (json) {
    Candidate candidate;
    candidate.outcome = rejected;
    say(candidate_json(candidate));
    return refused_exit;
  }
  say(fmt::format("REFUSED at {}: {}", name_of(rejected.stage), rejected.code));
  say("  " + rejected.message);
  if (!rejected.where.empty()) say("  at " + rejected.where);
  return refused_exit;
}

// What can be said of a kernel whose task nobody stated: it compiles, passes the gate and, where its plan needs no tensor,
// runs without a fault.
int verify_safety(Backend& backend, const OwnKernel& kernel, bool json) {
  const Attempt<CompiledKernel> compiled = backend.compile(kernel.source);
  if (compiled.is_error()) return fail(compiled.error());
  if (compiled.is_rejected()) return refused(compiled.rejected(), json);
  bool ran = false;
  if (!kernel.source.plan.launches.empty()) {
    const Task nothing;
    const Case one{};
    const Result<TrialReport> report = backend.run(nothing, *compiled, {&one, 1});
    if (!report) return fail(report.error());
    for (const CaseReport& result : report->cases) {
      if (!result.faults.empty()) {
        const Fault& fault = result.faults.front();
        return refused({Stage::run, fault.code, fault.message, fault.where}, json);
      }
    }
    ran = true;
  }
  if (json) {
    say(fmt::format("{{\"outcome\": \"safe\", \"ran\": {}, \"correctness\": \"not proved: no task was stated\"}}", ran));
    return 0;
  }
  say(fmt::format("SAFE on {}: compiled, gated{}", backend.identity(),
                  ran ? ", ran without a fault" : "; not run (no launch plan)"));
  say("  correctness was NOT proved: no task was stated. Say it with --task, or in the file's `// cupilot:` header");
  return 0;
}

void print_accepted(const Candidate& candidate, const Accepted& accepted, const std::string& device) {
  const Verification& v = accepted.verification;
  say(fmt::format("PROVED on {}: {} cases, {} elements compared, worst error {:.3g} of its bound, class {}", device,
                  v.cases.size(), v.compared, v.worst_ratio, name_of(v.proved)));
  say(fmt::format("  full size: {}", v.full_size ? "run and compared" : "not run; proved at small shapes that reach every path"));
  const Measurement& m = accepted.measurement;
  say(fmt::format("  time {} {} ({} L2, spread {}), floor {}: {:.0f}% of the roofline", time_text(m.time_us),
                  name_of(m.provenance), m.cache, time_text(m.spread_us), time_text(accepted.verdict.floor_us),
                  100 * accepted.verdict.floor_share));
  for (const std::string& sentence : accepted.verdict.digest) say("  " + sentence);
  say("  kernel " + candidate.kernel_id);
  say("  not proved: absence of races between blocks, behaviour at shapes the plan's `require` excludes");
}

}  // namespace

int verify_command(const KernelFlags& flags) {
  Result<OwnKernel> kernel = open_kernel(flags.files.front(), flags);
  if (!kernel) return fail(kernel.error());
  Result<std::unique_ptr<Backend>> backend = open_backend(flags.common.device);
  if (!backend) return fail(backend.error());
  if (!kernel->task) return verify_safety(**backend, *kernel, flags.common.json);

  const Pipe pipe{&*kernel->task, backend->get(), nullptr, flags.seed};
  const Result<Candidate> candidate = evaluate_source(pipe, kernel->source, ProofLevel::finalist);
  if (!candidate) return fail(candidate.error());
  if (const auto* rejected = std::get_if<Rejected>(&candidate->outcome)) return refused(*rejected, flags.common.json);
  const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
  if (accepted == nullptr) return fail({ErrorCode::failure, std::get<Lost>(candidate->outcome).reason, "run it again"});
  if (flags.common.json) {
    say(candidate_json(*candidate));
  } else {
    print_accepted(*candidate, *accepted, (*backend)->identity());
  }
  return 0;
}

}  // namespace cupilot::cli
