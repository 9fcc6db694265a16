#include <cupilot/parts/run_report.hpp>

#include <algorithm>
#include <map>

#include <cupilot/parts/evaluator.hpp>
#include <cupilot/parts/model_agents.hpp>

#include "evolution/journal/kept_families.hpp"
#include "evolution/journal/run_files.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/run/context.hpp"

namespace cupilot {
namespace {

// Outcomes that the journal knows.
class Outcomes {
 public:
  explicit Outcomes(const RunState& state) {
    for (const SearchEvent& event : state.events) {
      if (const auto* proposal = std::get_if<Proposal>(&event))
        proposals_[proposal->slot] = proposal;
      if (const auto* result = std::get_if<ResultRecord>(&event))
        results_[result->slot] = &result->candidate;
    }
    for (const auto& [slot, proposal] : proposals_) {
      if (results_.contains(slot)) by_strategy_.emplace(strategy_id(proposal->strategy), slot);
    }
  }

  bool made(const Proposal& proposal) const {
    const auto found = proposals_.find(proposal.slot);
    return found != proposals_.end() && found->second->kind == proposal.kind &&
           strategy_id(found->second->strategy) == strategy_id(proposal.strategy);
  }
  // Finds the slot's own outcome where it had this proposal, else that of the first slot with its
  // strategy; null: unknown.
  const Candidate* of(const Proposal& proposal) const {
    std::int64_t slot = proposal.slot;
    if (!made(proposal)) {
      const auto like = by_strategy_.find(strategy_id(proposal.strategy));
      if (like == by_strategy_.end()) return nullptr;
      slot = like->second;
    }
    const auto found = results_.find(slot);
    return found == results_.end() || std::holds_alternative<Lost>(found->second->outcome)
               ? nullptr
               : found->second;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(proposals_.size()); }
  double best_us() const {
    double best = 0;
    for (const auto& [slot, candidate] : results_) {
      const auto* accepted = std::get_if<Accepted>(&candidate->outcome);
      if (accepted != nullptr && (best == 0 || accepted->measurement.time_us < best))
        best = accepted->measurement.time_us;
    }
    return best;
  }

 private:
  std::map<std::int64_t, const Proposal*> proposals_;
  std::map<std::int64_t, const Candidate*> results_;
  std::map<std::string, std::int64_t> by_strategy_;
};

double plain_us_of(const RunState& state) {
  for (const Baseline& baseline : state.baselines->baselines) {
    if (baseline.name == "plain") return baseline.time_us;
  }
  return 0;
}

// Limits that the run was given later are those it searched under from the start.
void raise_limits(SearchOptions& search, const RunState& state) {
  for (const SearchEvent& event : state.events) {
    const auto* decision = std::get_if<DecisionRecord>(&event);
    if (decision == nullptr || decision->kind != "extend") continue;
    search.max_evaluations = std::max(search.max_evaluations, decision->max_evaluations);
    search.max_generations = std::max(search.max_generations, decision->max_generations);
  }
}

// As the run seated them.
ModelSeat seat_of(const RunState& state, const SearchComponents& components,
                  const SearchOptions& rules, ChatClient& chat) {
  ModelSeat seat;
  seat.client = &chat;
  seat.task = TaskRef(state.task);
  seat.device = &state.header.device;
  seat.options = *state.header.seats;
  seat.alignment = rules.steering.alignment;
  seat.code_crossover = rules.steering.code_crossover;
  seat.alone = !components.templates;
  if (seat.alone) seat.options.share = 1;
  return seat;
}

// Answers from the journal, and keeps count of what it does not know.
Result<Candidate> answered(const Outcomes& outcomes, const Proposal& proposal,
                           ReplayReport& report) {
  ++report.proposed;
  if (outcomes.made(proposal)) {
    ++report.same;
  } else if (report.first_other_slot < 0) {
    report.first_other_slot = proposal.slot;
  }
  if (const Candidate* candidate = outcomes.of(proposal)) return *candidate;
  ++report.unknown;
  return Candidate{};  // lost
}

Result<ReplayReport> search_again(Search& search, const Outcomes& outcomes) {
  ReplayReport report;
  report.recorded = outcomes.count();
  report.run_best_us = outcomes.best_us();
  FunctionEvaluator journal(
      [&](const EvaluationJob& job) { return answered(outcomes, job.proposal, report); });
  if (report.recorded > 0) {
    auto ended = run_search(search, journal,
                            [&](const Evaluated&) { return report.proposed < report.recorded; });
    if (!ended) return ended.error();
  }
  if (const auto best = search.best()) {
    report.best_us = best->time_us;
    report.best_strategy = describe(best->strategy);
  }
  return report;
}

}  // namespace

Result<ReplayReport> replay(const std::string& run_dir, const ReplayOptions& options) {
  auto read = read_journal(real_host(), run_dir);
  if (!read) return read.error();
  auto state = fold(*read);
  if (!state) return std::move(state.error()).while_doing(run_dir);
  if (!state->baselines) {
    return Error{ErrorCode::usage, run_dir + " has no baselines: it ended before its search began",
                 "continue it with `cupilot resume " + run_dir + "`"};
  }
  const HeaderRecord& header = state->header;
  const auto tunables = kept_tunables(real_host(), run_dir, header.tunables);
  const auto families = kept_families(real_host(), run_dir);
  if (!families) return families.error();
  auto components = find_components(state->task, header.device, header.techniques, tunables,
                                    *families, options.random_search.value_or(header.random_search),
                                    header.seats.has_value());
  if (!components) return std::move(components.error()).while_doing(run_dir);
  if (auto learnt =
          learn(*components, state->task, header.device, tunables, *families, header.learnt);
      !learnt)
    return learnt.error();
  SearchOptions rules = header.search;
  raise_limits(rules, *state);
  if (options.change) options.change(rules);
  Strategist* strategist = components->strategist;
  std::unique_ptr<Strategist> seated, given;
  if (options.chat != nullptr && header.seats && header.techniques.empty()) {
    seated = model_strategist(seat_of(*state, *components, rules, *options.chat), *strategist);
    strategist = seated.get();
  }
  if (options.strategist) {
    auto made = options.strategist(state->task, header.device, rules, *strategist);
    if (!made) return made.error();
    given = std::move(*made);
    strategist = given.get();
  }
  Search search(rules, *components->space, *strategist, components->zone, plain_us_of(*state),
                {header.remembered, header.remembered_effects, components->knowledge.forecast});
  auto report = search_again(search, Outcomes(*state));
  if (report) report->provenance = header.provenance;
  return report;
}

}  // namespace cupilot
