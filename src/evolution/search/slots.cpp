#include <cupilot/search.hpp>

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

// Proposals refused before the compiler cost nothing of the budget; this bounds them.
constexpr std::int64_t proposals_per_evaluation = 20;
// How far, in octaves, forecasts of one search lie from outcomes once their common error is known
// (bench/landscapes/h200).
constexpr double forecasts_within = 0.5;

SearchOptions sane(SearchOptions o) {
  o.population = std::max(1, o.population);
  o.initial = std::max(1, o.initial);
  o.children = std::max(1, o.children);
  o.elites = std::clamp(o.elites, 1, o.population);
  o.tournament = std::max(1, o.tournament);
  o.generations_per_epoch = std::max(1, o.generations_per_epoch);
  o.lookahead = o.lookahead == 0 ? least_lookahead : std::max(1, o.lookahead);
  o.offspring_per_slot = std::max(1, o.offspring_per_slot);
  o.repairs = std::max(0, o.repairs);
  o.tune_share = std::clamp(o.tune_share, 0.0, 1.0);
  if (!o.steering.roofline) o.utilisation_weight = 0;
  return o;
}

// The model is the roofline's: without the one there is none of the other.
bool forecasts(const SearchOptions& options, const Knowledge& knowledge) {
  return options.steering.model && options.steering.roofline && knowledge.forecast;
}

}  // namespace

Search::State::State(const SearchOptions& o, const Space& s, Strategist& g, Zone z, double plain,
                     Knowledge k)
    : options(sane(o)),
      space(s),
      strategist(g),
      zone(z),
      plain_us(plain > 0 ? plain : 1),
      knowledge(std::move(k)),
      tried(o.max_evaluations),
      population(space, {options.population, options.elites, options.tournament}),
      surrogate(s, forecasts(options, knowledge) ? forecasts_within : 0),
      owners(o.max_evaluations) {
  if (!forecasts(options, knowledge)) knowledge.forecast = {};
  if (!options.steering.surrogate && !knowledge.forecast) options.offspring_per_slot = 1;
}

double Search::State::prior_of(const Strategy& strategy) const {
  if (!knowledge.forecast) return 0;
  const std::optional<Prediction> forecast = knowledge.forecast(strategy);
  return forecast ? std::log2(plain_us) - forecast->log2_us : usual_prior;
}

bool Search::State::foresees() const {
  return (options.steering.surrogate && surrogate.ready()) || static_cast<bool>(knowledge.forecast);
}

int Search::State::generation_of(std::int64_t slot) const {
  return slot < options.initial ? 0
                                : 1 + static_cast<int>((slot - options.initial) / options.children);
}

int Search::State::epoch_of(std::int64_t slot) const {
  return generation_of(slot) / options.generations_per_epoch;
}

bool Search::State::starts_epoch(std::int64_t slot) const {
  return slot > 0 && epoch_of(slot) != epoch_of(slot - 1);
}

// An evaluated slot costs one of the budget whether or not it ended well; slots not yet absorbed
// are taken as evaluated, so that the answer depends on nothing a slot may not see.
bool Search::State::tuning(std::int64_t slot) const {
  if (options.max_evaluations <= 0 || best_us <= 0) return false;
  const std::int64_t spent = absorbed_evaluated + (slot - absorbed);
  return static_cast<double>(spent) >=
         (1 - options.tune_share) * static_cast<double>(options.max_evaluations);
}

void Search::State::append(Proposal proposal) {
  SearchSlot slot;
  slot.strategy_id = strategy_id(proposal.strategy);
  if (proposal.failed != 0) {
    const auto refused = static_cast<std::int64_t>(proposal.failed) - 1;
    std::erase(repairable, refused);
    if (const SearchSlot* before = slots.find(refused)) slot.repairs = before->repairs + 1;
  }
  slot.prior = prior_of(proposal.strategy);
  usual_prior += (slot.prior - usual_prior) / static_cast<double>(slots.size() + 1);
  slot.proposal = std::move(proposal);
  tried.insert(slot.strategy_id, slot.proposal.slot);
  if (surrogate_generation == generation_of(slot.proposal.slot))
    surrogate.add_pending(slot.proposal.slot, slot.proposal.strategy, slot.prior);
  open_ids.push_back(slot.proposal.id);
  slots.append(std::move(slot));
  forget_old();
}

void Search::State::settle(SearchSlot& slot) {
  std::erase(open_ids, slot.proposal.id);
  if (slot.status == SearchSlot::Status::told && slot.score.evaluated) ++evaluated;
  while (first_open < slots.size() && slots[first_open].status != SearchSlot::Status::open)
    ++first_open;
}

void Search::State::absorb_next() {
  SearchSlot& slot = slots[absorbed];
  const std::int64_t number = absorbed++;
  if (slot.score.evaluated) ++absorbed_evaluated;
  note_absorbed(slot);
  const bool duplicate =
      !slot.score.kernel_hash.empty() && !owners.insert(slot.score.kernel_hash, number);
  if (slot.score.rejection == below_the_floor) banned.emplace(slot.score.kernel_hash, number);
  if (!slot.score.accepted || slot.score.time_us <= 0) {
    surrogate.settle(number, std::nullopt);
    if (slot.score.repairable && slot.repairs < options.repairs) repairable.push_back(number);
    return;
  }
  const Individual individual = individual_of(slot);
  slot.fitness = individual.fitness;
  surrogate.settle(number, slot.fitness);
  if (duplicate) return;
  fastest_times.emplace(slot.score.time_us, number);
  if (fastest_times.size() > fastest_kept) fastest_times.erase(std::prev(fastest_times.end()));
  const std::string id = slot.score.realised ? strategy_id(individual.strategy) : slot.strategy_id;
  ancestors.insert_or_assign(id, Ancestor{individual.strategy, slot.score.time_us});
  for (const std::string& parent_id : individual.strategy.parents) {
    const auto parent = ancestors.find(parent_id);
    if (parent == ancestors.end()) continue;
    effects.note(individual.strategy, slot.score.time_us, parent->second.strategy,
                 parent->second.time_us);
  }
  if (best_us == 0 || slot.score.time_us < best_us) {
    best_us = slot.score.time_us;
    best_so_far.emplace_back(best_us, number);
  }
  population.add({individual, id},
                 Rng::of(options.seed, "survive", static_cast<std::uint64_t>(number)));
}

void Search::State::reseed_at(std::int64_t slot) {
  if (starts_epoch(slot))
    population.keep_fastest(
        static_cast<std::size_t>(std::max(options.elites, options.population / 3)));
}

std::vector<std::int64_t> Search::State::best_below(std::int64_t end, std::size_t count) {
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const double fa = slots[a].fitness, fb = slots[b].fitness;
    return fa != fb ? fa > fb : a < b;
  };
  for (; ranked < end; ++ranked) {
    if (slots[ranked].score.accepted) best_ranked.push_back(ranked);
  }
  std::sort(best_ranked.begin(), best_ranked.end(), better);
  if (best_ranked.size() > surrogate_points / 2) best_ranked.resize(surrogate_points / 2);
  std::vector<std::int64_t> best(
      best_ranked.begin(),
      best_ranked.begin() + static_cast<std::ptrdiff_t>(std::min(count, best_ranked.size())));
  std::sort(best.begin(), best.end());
  return best;
}

void Search::State::fit_surrogate(std::int64_t slot) {
  const int generation = generation_of(slot);
  if (surrogate_generation == generation) return;
  surrogate_generation = generation;
  const std::int64_t first = first_of_generation(generation);
  const std::int64_t seen = std::max<std::int64_t>(0, first - options.lookahead + 1);
  // The latest half for what happens now, the best of the older ones for what is known to be good.
  const std::int64_t half = (first < late ? surrogate_points : surrogate_points_late) / 2;
  const std::int64_t latest = std::max<std::int64_t>(0, first - half);
  std::vector<std::int64_t> chosen =
      best_below(std::min(latest, seen), static_cast<std::size_t>(half));
  for (std::int64_t i = latest; i < first; ++i) chosen.push_back(i);
  std::vector<Observation> points;
  const auto fitness_of = [&](const SearchSlot& s) {
    return s.score.accepted ? std::optional<double>(s.fitness) : std::nullopt;
  };
  for (const std::int64_t i : chosen) {
    const SearchSlot& s = slots[i];
    points.push_back(
        {i, &s.proposal.strategy, i < seen, i < seen ? fitness_of(s) : std::nullopt, s.prior});
  }
  surrogate.fit(points);
  for (std::int64_t i = first; i < slots.size(); ++i)
    surrogate.add_pending(i, slots[i].proposal.strategy, slots[i].prior);
  for (std::int64_t i = seen; i < absorbed; ++i) surrogate.settle(i, fitness_of(slots[i]));
}

void Search::State::absorb_below(std::int64_t end) {
  while (absorbed < end) absorb_next();
}

Search::Search(const SearchOptions& options, const Space& space, Strategist& strategist, Zone zone,
               double plain_us, Knowledge knowledge)
    : state_(std::make_unique<State>(options, space, strategist, zone, plain_us,
                                     std::move(knowledge))) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;

// Whether slot `next` exists is a function of the results of earlier slots alone: fewer than
// max_evaluations of them were evaluated, none that it may see reached the target. Sets `finished`
// when there is no such slot.
Search::State::Room Search::State::room_for(std::int64_t next) {
  if (options.target_us > 0 && best_us > 0 && best_us <= options.target_us) {
    finished = "target reached";
  } else if (options.max_generations > 0 && generation_of(next) >= options.max_generations) {
    finished = "generations spent";
  } else if (options.max_evaluations > 0) {
    if (evaluated >= options.max_evaluations) {
      finished = "evaluations spent";
    } else if (next / proposals_per_evaluation >= options.max_evaluations) {
      finished = "too many proposals never reached the compiler";
    } else if (evaluated + static_cast<std::int64_t>(open_ids.size()) >= options.max_evaluations) {
      return Room::wait;
    }
  }
  return finished.empty() ? Room::yes : Room::no;
}

Result<Ask> Search::ask(int count) {
  State& s = *state_;
  std::vector<Proposal> fresh;
  Waiting waiting;
  while (s.finished.empty() && static_cast<int>(fresh.size()) < std::max(1, count)) {
    const std::int64_t next = s.slots.size();
    const std::int64_t visible = std::max<std::int64_t>(0, next - s.options.lookahead + 1);
    if (s.first_open < visible) {
      for (const std::uint64_t id : s.open_ids) {
        if (static_cast<std::int64_t>(id) <= visible) waiting.ids.push_back(id);
      }
      break;
    }
    s.absorb_below(visible);
    const State::Room room = s.room_for(next);
    if (room == State::Room::wait) waiting.ids = s.open_ids;
    if (room != State::Room::yes) break;
    s.reseed_at(next);
    auto bred = s.breed(next);
    if (!bred) return bred.error();
    if (!*bred) {
      s.finished = "the strategy space is exhausted";
      break;
    }
    s.append(**bred);
    fresh.push_back(std::move(**bred));
  }
  if (!fresh.empty()) return Ask(std::move(fresh));
  if (s.finished.empty()) return Ask(std::move(waiting));
  if (!s.stopped) {
    waiting.ids = s.open_ids;
    if (!waiting.ids.empty()) return Ask(std::move(waiting));
  }
  s.absorb_below(s.first_open);
  return Ask(Finished{s.finished});
}

Result<void> Search::replay(const Proposal& proposal) {
  State& s = *state_;
  const std::int64_t next = s.slots.size();
  const std::int64_t visible = std::max<std::int64_t>(0, next - s.options.lookahead + 1);
  if (proposal.slot != next || proposal.id != static_cast<std::uint64_t>(next) + 1 ||
      s.first_open < visible) {
    return Error{ErrorCode::failure,
                 "the recorded proposal of slot " + std::to_string(proposal.slot) +
                     " does not follow slot " + std::to_string(next - 1),
                 "the journal was not written by this search; start a new run directory"};
  }
  s.absorb_below(visible);
  s.reseed_at(next);
  if (proposal.silent) s.strategist.set_unavailable_since(proposal.generation);
  s.append(proposal);
  return {};
}

// What is said of one that is not told of for the first time; taken: it is open.
TellStatus Search::State::standing(std::uint64_t id) const {
  const auto slot = static_cast<std::int64_t>(id) - 1;
  if (id == 0 || slot >= slots.size()) return TellStatus::unknown_id;
  if (forgotten.contains(slot)) return TellStatus::forgotten;
  const SearchSlot* found = slots.find(slot);
  return found == nullptr || found->status == SearchSlot::Status::told ? TellStatus::duplicate
                                                                       : TellStatus::accepted;
}

TellStatus Search::tell(std::uint64_t id, const Score& score) {
  State& s = *state_;
  if (const TellStatus standing = s.standing(id); standing != TellStatus::accepted) return standing;
  SearchSlot& slot = s.slots[static_cast<std::int64_t>(id) - 1];
  slot.status = SearchSlot::Status::told;
  slot.score = score;
  s.settle(slot);
  return TellStatus::accepted;
}

TellStatus Search::forget(std::uint64_t id) {
  State& s = *state_;
  if (const TellStatus standing = s.standing(id); standing != TellStatus::accepted)
    return standing == TellStatus::forgotten ? TellStatus::duplicate : standing;
  SearchSlot& slot = s.slots[static_cast<std::int64_t>(id) - 1];
  slot.status = SearchSlot::Status::forgotten;
  s.forgotten.insert(slot.proposal.slot);
  s.settle(slot);
  return TellStatus::accepted;
}

void Search::stop(const std::string& reason) {
  state_->finished = reason;
  state_->stopped = true;
}

void Search::extend(std::int64_t max_evaluations, int max_generations) {
  State& s = *state_;
  if (s.options.max_evaluations > 0) {
    s.options.max_evaluations =
        max_evaluations <= 0 ? 0 : std::max(s.options.max_evaluations, max_evaluations);
  }
  if (s.options.max_generations > 0) {
    s.options.max_generations =
        max_generations <= 0 ? 0 : std::max(s.options.max_generations, max_generations);
  }
  s.finished.clear();
  s.stopped = false;
}

std::optional<Individual> Search::best() const {
  auto first = fastest(1);
  if (first.empty()) return std::nullopt;
  return std::move(first.front());
}

std::vector<Individual> Search::archive() const {
  std::vector<Individual> all;
  for (const Member& member : state_->population.members()) all.push_back(member.individual);
  std::stable_sort(all.begin(), all.end(), faster);
  return all;
}

double Search::known_best_us(std::int64_t slot) const {
  double best = 0;
  for (const auto& [us, at] : state_->best_so_far) {
    if (at <= slot - state_->options.lookahead) best = us;
  }
  return best;
}

std::int64_t Search::known_owner(const std::string& kernel_hash, std::int64_t slot) const {
  const std::int64_t owner = state_->owners.find(kernel_hash);
  return owner <= slot - state_->options.lookahead ? owner : -1;
}

bool Search::known_banned(const std::string& kernel_hash, std::int64_t slot) const {
  const auto found = state_->banned.find(kernel_hash);
  return found != state_->banned.end() && found->second <= slot - state_->options.lookahead;
}

std::int64_t Search::evaluations() const { return state_->evaluated; }
std::int64_t Search::proposed() const { return state_->slots.size(); }

int Search::generation() const {
  return state_->slots.size() == 0 ? 0 : state_->generation_of(state_->slots.size() - 1);
}

}  // namespace cupilot
