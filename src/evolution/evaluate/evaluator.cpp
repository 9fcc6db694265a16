#include <cupilot/parts/evaluator.hpp>

#include <algorithm>

#include "evolution/search/known_kernels.hpp"

namespace cupilot {
namespace {

constexpr double wait_seconds = 1;  // longest wait for an ended job

}  // namespace

std::vector<Evaluated> FunctionEvaluator::collect(double) {
  std::vector<Evaluated> all;
  for (EvaluationJob& job : std::exchange(waiting_, {})) {
    auto candidate = answer_(job);
    if (candidate) candidate->id = job.proposal.id;
    all.push_back({std::move(job.proposal), std::move(candidate), {}});
  }
  return all;
}

Candidate timed_candidate(const Proposal& proposal, double time_us, const std::string& kernel_hash,
                          Provenance provenance) {
  Candidate candidate;
  candidate.id = proposal.id;
  candidate.strategy = proposal.strategy;
  candidate.strategy_id = strategy_id(proposal.strategy);
  candidate.kernel_hash = kernel_hash;
  candidate.evaluated = true;
  Accepted accepted;
  accepted.measurement.time_us = time_us;
  accepted.measurement.provenance = provenance;
  candidate.outcome = std::move(accepted);
  return candidate;
}

Result<std::string> run_search(Search& search, Evaluator& evaluator,
                               const std::function<bool(const Evaluated&)>& heard) {
  const int width = std::max(1, evaluator.capacity());
  int in_flight = 0;
  while (true) {
    while (in_flight < width) {
      auto asked = search.ask(1);
      if (!asked) return asked.error();
      if (auto* finished = std::get_if<Finished>(&*asked)) return std::move(finished->reason);
      auto* fresh = std::get_if<std::vector<Proposal>>(&*asked);
      if (fresh == nullptr) break;
      EvaluationJob job;
      job.elite_below_us = search.known_best_us(fresh->front().slot);
      job.proposal = std::move(fresh->front());
      job.refuse = [&search, slot = job.proposal.slot](const std::string& hash) {
        return had_before(search, hash, slot);
      };
      evaluator.submit(std::move(job));
      ++in_flight;
    }
    for (Evaluated& done : evaluator.collect(wait_seconds)) {
      --in_flight;
      if (!done.candidate) return std::move(done.candidate.error());
      tell(search, *done.candidate);
      if (heard && !heard(done)) return std::string();
    }
  }
}

}  // namespace cupilot
