#include <future>
#include <utility>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

#include "agents/models/asking.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "evolution/evaluate/count_work.hpp"
#include "evolution/evaluate/part_prover.hpp"
#include "evolution/evaluate/pipe.hpp"
#include "evolution/evaluate/prove_whole.hpp"
#include "evolution/evaluate/screen.hpp"
#include "evolution/evaluate/timing.hpp"
#include "kernel/library_step.hpp"

namespace cupilot {
namespace {

// A stage's answer: nothing when the candidate goes on.
using StageAnswer = Result<std::optional<Rejected>>;

// Ends the candidate's way; a caller that sees `given_up` drops the Error.
Error give_up(Passed& passed) {
  passed.given_up = true;
  return {ErrorCode::budget, "no time is left for the candidate", ""};
}
bool is_over(const EvaluationOptions& rules) {
  return rules.places != nullptr && rules.places->is_over();
}
Result<HeldPlace> enter(const EvaluationOptions& rules, DevicePlaces::For what, Passed& passed) {
  if (rules.places == nullptr) return HeldPlace();
  HeldPlace place = rules.places->take(what, rules.slot);
  if (place == nullptr) return give_up(passed);
  return place;
}

void begin(const EvaluationOptions& rules, const char* stage) {
  if (rules.begins) rules.begins(stage);
}

// Runs the battery on the device and concludes.
StageAnswer prove_on_device(const Pipe& pipe, const EvaluationOptions& rules, ProofLevel level,
                            Passed& passed, Accepted& accepted) {
  const CompiledKernel& kernel = passed.kernel;
  const bool real = pipe.backend->provenance() == Provenance::measured;
  const std::vector<Case> cases = [&] {
    const Phase phase("battery");
    return battery(pipe.task, kernel.source, pipe.backend->device(), level, rules.proof_seed, real);
  }();
  const auto place = enter(
      rules, level == ProofLevel::candidate ? DevicePlaces::For::proof : DevicePlaces::For::best,
      passed);
  if (!place) return place.error();
  auto report = pipe.backend->run(pipe.task, kernel, cases);
  if (!report) return report.error();
  if (Result<void> more = reach_further(*pipe.backend, pipe.task, kernel, level, cases, *report);
      !more)
    return more.error();
  auto concluded = conclude(pipe.task, kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  if (concluded.is_rejected()) return std::optional(concluded.rejected());
  accepted.verification = std::move(*concluded);
  accepted.conditions.ran_under = report->confinement;
  return std::optional<Rejected>();
}

// Holds what may win against honest executions of its graph.
StageAnswer prove_as_a_whole(const Pipe& pipe, const EvaluationOptions& rules, ProofLevel level,
                             const Passed& passed, Accepted& accepted) {
  if (level == ProofLevel::candidate || !is_proved_as_a_whole(pipe.task))
    return std::optional<Rejected>();
  if (has_library_step(passed.kernel.source.plan) &&
      pipe.backend->provenance() == Provenance::measured) {
    accepted.verification.unproved.emplace_back(
        "errors of the whole against honest executions: a library's step runs on the device alone");
    return std::optional<Rejected>();
  }
  const Phase phase("whole proof");
  Backend& device = pipe.screen != nullptr ? *pipe.screen : *pipe.backend;
  auto proof = prove_whole(device, pipe.task, passed.kernel, rules.proof_seed);
  if (!proof) return proof.error();
  Verification& shown = accepted.verification;
  if (!proof->proved.empty()) shown.proved_by.push_back(std::move(proof->proved));
  if (!proof->unproved.empty()) shown.unproved.push_back(std::move(proof->unproved));
  return std::move(proof->refused);
}

// On the screen, then on the device; on both at once what the screen has seen before.
StageAnswer prove(const Pipe& pipe, const EvaluationOptions& rules, ProofLevel level,
                  Passed& passed, Accepted& accepted) {
  const Phase phase(level == ProofLevel::elite ? "elite proof" : "proof");
  begin(rules, "proving");
  Screened screened;
  const auto look = [&]() -> StageAnswer {
    auto done = screen(pipe, passed.kernel, level, rules.proof_seed);
    if (!done) return done.error();
    screened = std::move(*done);
    return screened.refused;
  };
  CpuSpent looking;
  std::optional<std::future<StageAnswer>> aside;
  if (rules.screened_before) {
    aside = std::async(std::launch::async, [&, stop = stop_flags()] {
      const StopScope stopped(stop);
      const PhaseLog log;
      StageAnswer refused = look();
      looking = log.cpu();
      return refused;
    });
  } else if (auto refused = look(); !refused || *refused) {
    return refused;
  }
  auto refused = prove_on_device(pipe, rules, level, passed, accepted);
  if (aside) {
    const Phase waiting("screen");
    auto late = aside->get();
    credit(looking);
    if (!late || *late) return late;
  }
  if (!refused || *refused) return refused;
  if (!screened.proved.empty()) {
    accepted.verification.proved_by.push_back(screened.proved);
    accepted.conditions.screened_on = pipe.screen->identity();
  }
  if (!screened.unproved.empty()) accepted.verification.unproved.push_back(screened.unproved);
  return prove_as_a_whole(pipe, rules, level, passed, accepted);
}

std::optional<Rejected> wrong_when_timed(const std::vector<CaseReport>& proofs) {
  for (const CaseReport& proof : proofs) {
    if (!proof.faults.empty()) {
      const Fault& fault = proof.faults.front();
      return reject("measure.timed_launch", fault.code + " in a timed launch: " + fault.message,
                    fault.where);
    }
    for (const OutputReport& output : proof.outputs) {
      if (output.failed == 0 && output.never_written == 0) continue;
      return reject(
          "measure.timed_launch",
          fmt::format(
              "a timed launch left {} of {} compared elements of {} wrong and {} never written",
              output.failed, output.compared, output.tensor, output.never_written),
          fmt::format("{}[{}]", output.tensor, output.worst_index));
    }
  }
  return std::nullopt;
}

// Times and judges what was proved.
StageAnswer time_it(const Pipe& pipe, const EvaluationOptions& rules, Passed& passed,
                    Accepted& accepted) {
  const Phase phase("timing");
  begin(rules, "timing");
  std::vector<Subject> contestants = {{Subject::Kind::candidate, "candidate", &passed.kernel}};
  contestants.insert(contestants.end(), rules.others.begin(), rules.others.end());
  const auto place = enter(rules, DevicePlaces::For::time, passed);
  if (!place) return place.error();
  MeasureOptions measure = rules.measure;
  if (rules.round_seconds) measure.max_seconds = rules.round_seconds();
  auto timed = measure_all(pipe.task, *pipe.backend, contestants, measure);
  if (!timed) return timed.error();
  Attempt<Measurement>& own = timed->front().report.measurement;
  if (own.is_error()) return own.error();
  if (own.is_rejected()) return std::optional(own.rejected());
  if (auto wrong = wrong_when_timed(timed->front().report.proofs)) return wrong;
  auto impossible = below_floor(pipe.task, *pipe.backend, passed.kernel,
                                accepted.verification.proved, timed->front());
  if (!impossible || *impossible) return impossible;
  accepted.measurement = std::move(*own);
  for (std::size_t i = 1; i < timed->size(); ++i)
    passed.others.push_back(std::move((*timed)[i].report));
  auto verdict = judge(pipe.task, pipe.task->time_shapes.front(), pipe.backend->device(),
                       accepted.measurement);
  if (!verdict) return verdict.error();
  accepted.verdict = std::move(*verdict);
  return std::optional<Rejected>();
}

// Proves the parts of a program that the writer joined, while the program is compiled and proved.
class PartsAside {
 public:
  // Both must outlive it.
  PartsAside(const Pipe& pipe, const EvaluationOptions& rules) {
    auto* prover = dynamic_cast<PartProver*>(pipe.writer);
    if (prover == nullptr || rules.brief.strategy == nullptr) return;
    answer_ = std::async(std::launch::async, [this, &pipe, &rules, prover, stop = stop_flags()] {
      const StopScope stopped(stop);
      const PhaseLog log;
      auto answer = prover->prove_parts(pipe, *rules.brief.strategy, rules.level, rules.proof_seed);
      cpu_ = log.cpu();
      return answer;
    });
  }

  // Waits for it, once.
  StageAnswer take() {
    if (!answer_.valid()) return std::optional<Rejected>();
    const Phase waiting("part proof");
    auto answer = answer_.get();
    credit(cpu_);
    if (!answer) return answer.error();
    proved_ = std::move(answer->proved);
    return std::move(answer->refused);
  }

  // Says in a verification what take() found.
  void tell(Verification& shown) const {
    if (!proved_.empty()) shown.proved_by.push_back(proved_);
  }

 private:
  CpuSpent cpu_;
  std::string proved_;
  std::future<Result<PartProof>> answer_;  // last: its thread ends first
};

// Proves, times, judges; what is faster than the rule's mark is proved as an elite before it is
// believed.
StageAnswer try_out(const Pipe& pipe, const EvaluationOptions& rules, PartsAside& parts,
                    Passed& passed, Accepted& accepted) {
  const CompiledKernel& kernel = passed.kernel;
  accepted.conditions = {
      kernel.compiler, kernel.options, kernel.arch, kernel.facts.flags, kernel.confinement, "", ""};
  // A finalist is counted for certain: the interpreter works while the device proves, for the case
  // that the chip's counters are not read.
  std::optional<InterpretedWork> aside;
  std::optional<Counts> interpreted;
  std::optional<CountPlan> plan;
  if (rules.count && rules.level == ProofLevel::finalist) aside.emplace(pipe, kernel);
  auto refused = prove(pipe, rules, rules.level, passed, accepted);
  // A part that is wrong is named, whatever the whole is refused for.
  if (auto part = parts.take(); !part || *part) return part;
  if (!refused || *refused) return refused;
  parts.tell(accepted.verification);
  if (rules.proof_only) return refused;
  // Nothing else works while it is timed.
  if (aside) {
    plan = rules.count(false);
    if (plan && !plan->reads_all()) interpreted = aside->take();
    aside.reset();
  }
  refused = time_it(pipe, rules, passed, accepted);
  if (!refused || *refused) return refused;
  const bool elite = rules.level == ProofLevel::candidate && rules.elite_below_us > 0 &&
                     accepted.measurement.time_us < rules.elite_below_us;
  if (elite) refused = prove(pipe, rules, ProofLevel::elite, passed, accepted);
  if (!refused || *refused) return refused;
  if (elite) parts.tell(accepted.verification);
  if (!rules.count) return refused;
  if (!plan) plan = rules.count(elite);
  if (plan) {
    if (auto counted = count_work(pipe, kernel, *plan, accepted, std::move(interpreted)); !counted)
      return counted.error();
  }
  return refused;
}

Attempt<CompiledKernel> compile(const Pipe& pipe, const KernelSource& source,
                                const EvaluationOptions& rules) {
  if (rules.compiled != nullptr && kernel_id(rules.compiled->source) == kernel_id(source))
    return *rules.compiled;
  const Phase phase("compile");
  begin(rules, "compiling");
  return rules.anew ? pipe.backend->compile(source, Fresh::yes) : pipe.backend->compile(source);
}

Error incomplete(const Pipe& pipe) {
  const char* lacks = !pipe.task ? "task" : pipe.backend == nullptr ? "backend" : "writer";
  return {ErrorCode::usage, std::string("Pipe::") + lacks + " is missing",
          "a pipe needs a task, a backend and, where a strategy is evaluated, a writer"};
}

}  // namespace

Result<Passed> pass_source(const Pipe& pipe, const KernelSource& source,
                           const EvaluationOptions& rules) {
  if (!pipe.task || pipe.backend == nullptr) return incomplete(pipe);
  Passed passed;
  Candidate& candidate = passed.candidate;
  candidate.source = source;
  candidate.strategy_id = source.strategy_id;
  candidate.evaluated = true;
  if (is_over(rules)) {
    passed.given_up = true;
    return passed;
  }
  auto compiled = compile(pipe, source, rules);
  if (compiled.is_error()) return compiled.error();
  candidate.kernel_id = compiled && !compiled->id.empty() ? compiled->id : kernel_id(source);
  if (compiled.is_rejected()) {
    candidate.outcome = compiled.rejected();
    return passed;
  }
  passed.kernel = std::move(*compiled);
  candidate.kernel_hash = passed.kernel.facts.normalized_hash;
  if (rules.admit) {
    if (auto refused = rules.admit(passed.kernel)) {
      candidate.outcome = std::move(*refused);
      return passed;
    }
  }
  if (is_over(rules)) {
    passed.given_up = true;
    return passed;
  }
  Accepted accepted;
  PartsAside parts(pipe, rules);
  auto refused = try_out(pipe, rules, parts, passed, accepted);
  if (passed.given_up) return passed;
  if (!refused) return refused.error();
  if (*refused) {
    candidate.outcome = std::move(**refused);
  } else {
    candidate.outcome = std::move(accepted);
  }
  return passed;
}

namespace {

Attempt<KernelSource> written(const Pipe& pipe, const WriterBrief& brief,
                              const EvaluationOptions& rules) {
  if (rules.source != nullptr) return *rules.source;
  if (const auto lack = pipe.writer->lacks(pipe.task, *brief.strategy))
    return reject("write.uncovered", "no writer realises " + *lack);
  const Phase phase("write");
  begin(rules, "writing");
  return pipe.writer->write(brief);
}

}  // namespace

Result<Passed> pass(const Pipe& pipe, const Strategy& strategy, const EvaluationOptions& rules) {
  const bool writes = rules.source == nullptr;
  if (!pipe.task || pipe.backend == nullptr || (writes && pipe.writer == nullptr))
    return incomplete(pipe);
  WriterBrief brief = rules.brief;
  brief.task = pipe.task;
  brief.strategy = &strategy;
  brief.device = &pipe.backend->device();
  Passed passed;
  auto source = written(pipe, brief, rules);
  // A silent model is nobody's fault: the search goes on with what templates write.
  if (source.is_error() && !is_silence(source.error())) return source.error();
  if (source.is_error()) passed.candidate.outcome = Lost{source.error().message};
  if (source.is_rejected()) {
    passed.candidate.outcome = source.rejected();
    // Two unreadable answers of a model cost what a kernel costs.
    passed.candidate.evaluated = source.rejected().code == "write.unreadable";
  }
  if (source) {
    EvaluationOptions known = rules;
    known.brief.strategy = &strategy;
    auto done = pass_source(pipe, *source, known);
    if (!done || done->given_up) return done;
    passed = std::move(*done);
  }
  Candidate& candidate = passed.candidate;
  candidate.strategy = strategy;
  const auto* accepted = std::get_if<Accepted>(&candidate.outcome);
  if (accepted != nullptr && rules.source == nullptr)
    candidate.strategy = pipe.writer->realised(brief, passed.kernel, *accepted);
  candidate.strategy_id = strategy_id(candidate.strategy);
  return passed;
}

Result<Candidate> evaluate(const Pipe& pipe, const Strategy& strategy, ProofLevel level) {
  EvaluationOptions rules;
  rules.level = level;
  rules.proof_seed = pipe.seed;
  auto passed = pass(pipe, strategy, rules);
  if (!passed) return passed.error();
  return std::move(passed->candidate);
}

Result<Candidate> evaluate_source(const Pipe& pipe, const KernelSource& source, ProofLevel level) {
  EvaluationOptions rules;
  rules.level = level;
  rules.proof_seed = pipe.seed;
  rules.anew = true;
  auto passed = pass_source(pipe, source, rules);
  if (!passed) return passed.error();
  return std::move(passed->candidate);
}

}  // namespace cupilot
