#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <cupilot/rejection.hpp>

#include "evolution/circle.hpp"
#include "evolution/pipe.hpp"

namespace cupilot {
namespace {

// A stage's answer: nothing when the candidate goes on.
using Refusal = Result<std::optional<Rejected>>;

Result<Attempt<Verification>> prove(const Pipe& pipe, const CompiledKernel& kernel, ProofLevel level, std::uint64_t seed) {
  const bool real = pipe.backend->provenance() == Provenance::measured;
  const std::vector<Case> cases = battery(*pipe.task, kernel.source, pipe.backend->device(), level, seed, real);
  auto report = pipe.backend->run(*pipe.task, kernel, cases);
  if (!report) return report.error();
  auto concluded = conclude(*pipe.task, kernel, level, *report);
  if (concluded.is_error()) return concluded.error();
  return concluded;
}

std::optional<Rejected> wrong_when_timed(const std::vector<CaseReport>& proofs) {
  for (const CaseReport& proof : proofs) {
    if (!proof.faults.empty()) {
      const Fault& fault = proof.faults.front();
      return reject("measure.timed_launch", fault.code + " in a timed launch: " + fault.message, fault.where);
    }
    for (const OutputReport& output : proof.outputs) {
      if (output.failed == 0 && output.never_written == 0) continue;
      return reject("measure.timed_launch",
                    fmt::format("a timed launch left {} of {} compared elements of {} wrong and {} never written", output.failed,
                                output.compared, output.tensor, output.never_written),
                    fmt::format("{}[{}]", output.tensor, output.worst_index));
    }
  }
  return std::nullopt;
}

// Below the floor of the weakest class the contract allows, no correct kernel exists.
Result<std::optional<Rejected>> below_floor(const Pipe& pipe, const Accepted& accepted) {
  double floor = 0, weights = 0;
  for (const Workload& workload : pipe.task->time_shapes) {
    auto us = floor_us(*pipe.task, workload, pipe.backend->device(), accepted.verification.proved);
    if (!us) return us.error();
    floor += workload.weight * *us;
    weights += workload.weight;
  }
  floor /= weights;
  if (accepted.measurement.time_us >= floor) return std::optional<Rejected>();
  return std::optional<Rejected>(
      reject("floor.impossible", fmt::format("{:.4g} us {} lies below the floor of {:.4g} us", accepted.measurement.time_us,
                                             name_of(accepted.measurement.provenance), floor)));
}

// Runs, proves, times and judges what was compiled.
Refusal try_out(const Pipe& pipe, const PipeRules& rules, Passed& passed, Accepted& accepted) {
  auto proved = prove(pipe, passed.kernel, rules.level, rules.proof_seed);
  if (!proved) return proved.error();
  if (proved->is_rejected()) return std::optional(proved->rejected());
  accepted.verification = std::move(**proved);

  std::vector<Contestant> contestants = {{Contestant::Kind::candidate, "candidate", &passed.kernel}};
  contestants.insert(contestants.end(), rules.others.begin(), rules.others.end());
  auto reports = measure_all(*pipe.task, *pipe.backend, contestants, rules.measure);
  if (!reports) return reports.error();
  ContestantReport& own = reports->front();
  if (own.measurement.is_error()) return own.measurement.error();
  if (own.measurement.is_rejected()) return std::optional(own.measurement.rejected());
  if (auto wrong = wrong_when_timed(own.proofs)) return wrong;
  accepted.measurement = std::move(*own.measurement);
  if (!(accepted.measurement.time_us > 0) || !std::isfinite(accepted.measurement.time_us)) {
    return std::optional(reject("measure.failed", "the time is not a positive number"));
  }
  passed.samples_us = accepted.measurement.samples_us;
  passed.others.assign(std::make_move_iterator(reports->begin() + 1), std::make_move_iterator(reports->end()));

  auto impossible = below_floor(pipe, accepted);
  if (!impossible || *impossible) return impossible;
  auto verdict = judge(*pipe.task, pipe.task->time_shapes.front(), pipe.backend->device(), accepted.measurement);
  if (!verdict) return verdict.error();
  accepted.verdict = std::move(*verdict);
  return std::optional<Rejected>();
}

Refusal prove_as_elite(const Pipe& pipe, const PipeRules& rules, const Passed& passed, Accepted& accepted) {
  const bool due =
      rules.level == ProofLevel::candidate && rules.elite_below_us > 0 && accepted.measurement.time_us < rules.elite_below_us;
  if (!due) return std::optional<Rejected>();
  auto proved = prove(pipe, passed.kernel, ProofLevel::elite, rules.proof_seed);
  if (!proved) return proved.error();
  if (proved->is_rejected()) return std::optional(proved->rejected());
  accepted.verification = std::move(**proved);
  return std::optional<Rejected>();
}

}  // namespace

Result<Passed> pass_source(const Pipe& pipe, const KernelSource& source, const PipeRules& rules) {
  Passed passed;
  Candidate& candidate = passed.candidate;
  candidate.source = source;
  candidate.strategy_id = source.strategy_id;
  candidate.kernel_id = kernel_id(source);
  candidate.evaluated = true;
  auto compiled = pipe.backend->compile(source);
  if (compiled.is_error()) return compiled.error();
  if (compiled.is_rejected()) {
    candidate.outcome = compiled.rejected();
    return passed;
  }
  passed.kernel = std::move(*compiled);
  passed.kernel_hash = passed.kernel.facts.normalized_hash;
  if (rules.admit) {
    if (auto refused = rules.admit(passed.kernel)) {
      candidate.outcome = std::move(*refused);
      return passed;
    }
  }
  Accepted accepted;
  auto refused = try_out(pipe, rules, passed, accepted);
  if (refused && !*refused) refused = prove_as_elite(pipe, rules, passed, accepted);
  if (!refused) return refused.error();
  if (*refused) {
    candidate.outcome = std::move(**refused);
  } else {
    candidate.outcome = std::move(accepted);
  }
  return passed;
}

Result<Passed> pass(const Pipe& pipe, const Strategy& strategy, const PipeRules& rules) {
  Passed passed;
  passed.candidate.strategy = strategy;
  passed.candidate.strategy_id = strategy_id(strategy);
  if (const auto lack = pipe.writer->lacks(*pipe.task, strategy)) {
    passed.candidate.outcome = reject("write.uncovered", "no writer realises " + *lack);
    return passed;
  }
  WriterBrief brief;
  brief.task = pipe.task;
  brief.strategy = &strategy;
  brief.device = &pipe.backend->device();
  auto written = pipe.writer->write(brief);
  if (written.is_error()) return written.error();
  if (written.is_rejected()) {
    passed.candidate.outcome = written.rejected();
    return passed;
  }
  auto done = pass_source(pipe, *written, rules);
  if (!done) return done.error();
  done->candidate.strategy = strategy;
  done->candidate.strategy_id = passed.candidate.strategy_id;
  return done;
}

Result<Candidate> evaluate(const Pipe& pipe, const Strategy& strategy, ProofLevel level) {
  PipeRules rules;
  rules.level = level;
  rules.proof_seed = pipe.seed;
  auto passed = pass(pipe, strategy, rules);
  if (!passed) return passed.error();
  return std::move(passed->candidate);
}

Result<Candidate> evaluate_source(const Pipe& pipe, const KernelSource& source, ProofLevel level) {
  PipeRules rules;
  rules.level = level;
  rules.proof_seed = pipe.seed;
  auto passed = pass_source(pipe, source, rules);
  if (!passed) return passed.error();
  return std::move(passed->candidate);
}

}  // namespace cupilot
