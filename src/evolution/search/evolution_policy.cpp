#include "evolution/search/evolution_policy.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

// Octaves by which forecasts of one search lie from outcomes once their common error is known
// (bench/landscapes/h200).
constexpr double forecasts_within = 0.5;
constexpr std::size_t failures_told = 8, history_kept = 96;

// The model is the roofline's: without the one there is none of the other.
bool forecasts(const SearchOptions& options, const Knowledge& knowledge) {
  return options.steering.model && options.steering.roofline && knowledge.forecast;
}

std::optional<double> fitness_of(const BredSlot& slot) {
  return slot.accepted ? std::optional<double>(slot.fitness) : std::nullopt;
}

}  // namespace

std::unique_ptr<Policy> evolution_policy(const SearchOptions& options, const Space& space,
                                         Strategist& strategist, Zone zone, double plain_us,
                                         Knowledge knowledge) {
  return std::make_unique<EvolutionPolicy>(options, space, strategist, zone, plain_us,
                                           std::move(knowledge));
}

EvolutionPolicy::EvolutionPolicy(const SearchOptions& options, const Space& space,
                                 Strategist& strategist, Zone zone, double plain_us,
                                 Knowledge knowledge)
    : options_(sane(options)),
      space_(space),
      strategist_(strategist),
      zone_(zone),
      plain_us_(unit_of_fitness(plain_us)),
      knowledge_(std::move(knowledge)),
      population_(space, {options_.population, options_.elites, options_.tournament}),
      surrogate_(space, forecasts(options_, knowledge_) ? forecasts_within : 0) {
  if (!forecasts(options_, knowledge_)) knowledge_.forecast = {};
  if (!options_.steering.surrogate && !knowledge_.forecast) options_.offspring_per_slot = 1;
}

int EvolutionPolicy::generation_of(std::int64_t slot) const {
  return cupilot::generation_of(options_, slot);
}

std::int64_t EvolutionPolicy::first_of_generation(int generation) const {
  return generation == 0
             ? 0
             : options_.initial + static_cast<std::int64_t>(generation - 1) * options_.children;
}

double EvolutionPolicy::prior_of(const Strategy& strategy) const {
  if (!knowledge_.forecast) return 0;
  const std::optional<Prediction> forecast = knowledge_.forecast(strategy);
  return forecast ? std::log2(plain_us_) - forecast->log2_us : usual_prior_;
}

bool EvolutionPolicy::foresees() const {
  return (options_.steering.surrogate && surrogate_.ready()) ||
         static_cast<bool>(knowledge_.forecast);
}

// An evaluated slot costs one of the budget whether or not it ended well.
bool EvolutionPolicy::tuning(const PolicyView& view) const {
  if (view.max_evaluations <= 0 || view.best_us <= 0) return false;
  return static_cast<double>(view.spent) >=
         (1 - options_.tune_share) * static_cast<double>(view.max_evaluations);
}

void EvolutionPolicy::begin_slot(std::int64_t slot) {
  if (slot <= begun_) return;
  begun_ = slot;
  if (epoch_of(options_, slot) == epoch_of(options_, slot - 1)) return;
  population_.keep_fastest(
      static_cast<std::size_t>(std::max(options_.elites, options_.population / 3)));
}

void EvolutionPolicy::accept(const Proposal& proposal) {
  begin_slot(proposal.slot);
  if (proposal.silent) strategist_.set_unavailable_since(proposal.generation);
  if (!proposal.strategist.empty()) strategist_.restore(proposal.strategist);
  BredSlot slot;
  slot.strategy = proposal.strategy;
  slot.strategy_id = strategy_id(proposal.strategy);
  if (proposal.failed != 0) {
    const auto refused = static_cast<std::int64_t>(proposal.failed) - 1;
    std::erase(repairable_, refused);
    if (const BredSlot* before = slots_.find(refused)) slot.repairs = before->repairs + 1;
  }
  slot.prior = prior_of(proposal.strategy);
  usual_prior_ += (slot.prior - usual_prior_) / static_cast<double>(slots_.size() + 1);
  if (surrogate_generation_ == generation_of(proposal.slot))
    surrogate_.add_pending(proposal.slot, proposal.strategy, slot.prior);
  slots_.append(std::move(slot));
  forget_old();
}

// Counts a refusal for the candidate's own sake, not one that merely came twice.
void EvolutionPolicy::note_failure(const SlotOutcome& outcome) {
  const std::string& code = outcome.score.rejection;
  if (code.empty() || code == "gate.duplicate") return;
  failures_.push_back({outcome.proposal.strategy, code});
  if (failures_.size() > failures_told) failures_.pop_front();
}

void EvolutionPolicy::observe(const SlotOutcome& outcome) {
  const std::int64_t number = outcome.proposal.slot;
  const Score& score = outcome.score;
  BredSlot& slot = slots_[number];
  observed_ = number + 1;
  note_failure(outcome);
  history_.push_back({outcome.proposal.id,
                      score.realised ? *score.realised : outcome.proposal.strategy,
                      score.accepted ? score.time_us : 0, score.rejection});
  if (history_.size() > history_kept) history_.pop_front();
  slot.accepted = score.accepted;
  if (!score.accepted || score.time_us <= 0) {
    surrogate_.settle(number, std::nullopt);
    if (score.repairable && slot.repairs < options_.repairs) repairable_.push_back(number);
    return;
  }
  const Individual individual = individual_of(options_, plain_us_, outcome.proposal, score);
  slot.fitness = individual.fitness;
  surrogate_.settle(number, slot.fitness);
  if (outcome.duplicate) return;
  const std::string id = score.realised ? strategy_id(individual.strategy) : outcome.strategy_id;
  ancestors_.insert_or_assign(id, Ancestor{individual.strategy, score.time_us});
  for (const std::string& parent_id : individual.strategy.parents) {
    const auto parent = ancestors_.find(parent_id);
    if (parent == ancestors_.end()) continue;
    effects_.note(individual.strategy, score.time_us, parent->second.strategy,
                  parent->second.time_us);
  }
  population_.add({individual, id},
                  Rng::of(options_.seed, "survive", static_cast<std::uint64_t>(number)));
}

std::vector<Individual> EvolutionPolicy::population() const {
  std::vector<Individual> all;
  for (const Member& member : population_.members()) all.push_back(member.individual);
  return all;
}

void EvolutionPolicy::forget_old() {
  // The fits to come look at these, whichever of the latest they take.
  const std::int64_t next = slots_.size(), generation = first_of_generation(generation_of(next));
  const std::int64_t first = std::min({observed_, generation - surrogate_points / 2,
                                       generation - options_.lookahead + 1, next - latest_kept});
  if (first < slots_.first() + worth_forgetting) return;
  best_below(first, 0);
  std::set<std::int64_t> needed(best_ranked_.begin(), best_ranked_.end());
  needed.insert(repairable_.begin(), repairable_.end());
  slots_.forget(first, needed);
  std::set<std::string> kin;
  for (const Member& member : population_.members()) kin.insert(member.strategy_id);
  for (std::int64_t slot = observed_; slot < next; ++slot) {
    const std::vector<std::string>& parents = slots_[slot].strategy.parents;
    kin.insert(parents.begin(), parents.end());
  }
  std::erase_if(ancestors_, [&](const auto& entry) { return !kin.contains(entry.first); });
}

std::vector<std::int64_t> EvolutionPolicy::best_below(std::int64_t end, std::size_t count) {
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const double fa = slots_[a].fitness, fb = slots_[b].fitness;
    return fa != fb ? fa > fb : a < b;
  };
  for (; ranked_ < end; ++ranked_) {
    if (slots_[ranked_].accepted) best_ranked_.push_back(ranked_);
  }
  std::sort(best_ranked_.begin(), best_ranked_.end(), better);
  if (best_ranked_.size() > surrogate_points / 2) best_ranked_.resize(surrogate_points / 2);
  std::vector<std::int64_t> best(
      best_ranked_.begin(),
      best_ranked_.begin() + static_cast<std::ptrdiff_t>(std::min(count, best_ranked_.size())));
  std::sort(best.begin(), best.end());
  return best;
}

void EvolutionPolicy::fit_surrogate(std::int64_t slot) {
  const int generation = generation_of(slot);
  if (surrogate_generation_ == generation) return;
  surrogate_generation_ = generation;
  const std::int64_t first = first_of_generation(generation);
  const std::int64_t seen = std::max<std::int64_t>(0, first - options_.lookahead + 1);
  // The latest half for what happens now, the best of the older ones for what is known to be good.
  const std::int64_t half = (first < late ? surrogate_points : surrogate_points_late) / 2;
  const std::int64_t latest = std::max<std::int64_t>(0, first - half);
  std::vector<std::int64_t> chosen =
      best_below(std::min(latest, seen), static_cast<std::size_t>(half));
  for (std::int64_t i = latest; i < first; ++i) chosen.push_back(i);
  std::vector<Observation> points;
  for (const std::int64_t i : chosen) {
    const BredSlot& s = slots_[i];
    points.push_back({i, &s.strategy, i < seen, i < seen ? fitness_of(s) : std::nullopt, s.prior});
  }
  surrogate_.fit(points);
  for (std::int64_t i = first; i < slots_.size(); ++i)
    surrogate_.add_pending(i, slots_[i].strategy, slots_[i].prior);
  for (std::int64_t i = seen; i < observed_; ++i) surrogate_.settle(i, fitness_of(slots_[i]));
}

}  // namespace cupilot
