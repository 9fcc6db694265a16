#include <algorithm>
#include <cmath>
#include <set>

#include "evolution/search/evolution_policy.hpp"

namespace cupilot {
namespace {

// Shares of the kinds of children, and of slots that take their first child unscreened, so that a
// wrong surrogate cannot hold the search.
constexpr double explore_share = 0.10, cross_share = 0.45, unscreened_share = 0.15,
                 unscreened_seeds = 0.5;
// Shares of a brood once a forecast's first results are in: in generation 0, and later, since the
// best may lie nowhere near what is known.
constexpr double seed_share = 0.5, late_seed_share = 0.3;
// Broods that are drawn for a core of which nothing was proposed; such a core is not tried where it
// is expected to be slower by so much.
constexpr int broods_of_core = 4;
constexpr double hopeless_octaves = 2;
// One slot of so many is such a core's turn, in generation 0 and later.
constexpr int first_turns = 2, late_turns = 8;
// Slots of which more is expected than of others, and their broods.
constexpr int first_slots = 8, broods_of_first = 4;
constexpr int tries = latest_kept;  // draws before a space counts as exhausted
constexpr int neighbourhoods_kept = 8;

BreedKind draw_kind(Rng& rng, bool crossover) {
  const double u = rng.unit();
  if (u < explore_share) return BreedKind::explore;
  return crossover && u < explore_share + cross_share ? BreedKind::cross : BreedKind::mutate;
}

// Joins this run's effects of techniques with those of earlier ones: means weighted by counts.
void add(std::vector<StrategyBrief::Effect>& effects,
         const std::vector<StrategyBrief::Effect>& more) {
  for (const StrategyBrief::Effect& one : more) {
    const auto same = std::find_if(effects.begin(), effects.end(),
                                   [&](const auto& e) { return e.technique == one.technique; });
    if (same == effects.end()) {
      effects.push_back(one);
      continue;
    }
    const int count = same->count + one.count;
    if (count <= 0) continue;
    same->gain = (same->gain * same->count + one.gain * one.count) / count;
    same->count = count;
  }
}

}  // namespace

StrategyBrief EvolutionPolicy::brief_for(const PolicyView& view, bool of_parents) const {
  StrategyBrief brief;
  brief.space = &space_;
  brief.zone = options_.steering.roofline ? zone_ : Zone::middle;
  brief.tried = view.tried;
  if (!of_parents) {
    for (const Member& member : population_.members())
      brief.population.push_back(member.individual.strategy);
    for (std::int64_t i = observed_; i < view.slot; ++i)
      brief.population.push_back(slots_[i].strategy);  // on their way
  }
  brief.effects = effects_.effects();
  brief.slot = view.slot;
  brief.generation = view.generation;
  brief.failures.assign(failures_.begin(), failures_.end());
  if (strategist_.is_expensive(view.slot, view.generation)) {
    brief.history.assign(history_.begin(), history_.end());
    for (std::int64_t i = observed_; i < view.slot; ++i)
      brief.history.push_back({static_cast<std::uint64_t>(i) + 1, slots_[i].strategy, 0, "", true});
  }
  brief.forecast = knowledge_.forecast;
  if (options_.steering.pool) {
    brief.remembered = knowledge_.remembered;
    add(brief.effects, knowledge_.effects);
  }
  brief.roofline = options_.steering.roofline;
  return brief;
}

std::vector<std::string> EvolutionPolicy::choose_parents(StrategyBrief& brief, BreedKind kind,
                                                         const std::string& core,
                                                         const Rng& rng) const {
  const bool of_model = strategist_.is_expensive(brief.slot, brief.generation);
  std::vector<const Member*> parents;
  if (kind == BreedKind::mutate || kind == BreedKind::cross)
    parents.push_back(&population_.select(rng.fork(1), core));
  if (kind == BreedKind::cross) {
    // Takes the one of a few winners that differs most: its techniques complement the first one's.
    const Member* second = nullptr;
    double farthest = 0;
    for (std::uint64_t draw = 0; draw < 3; ++draw) {
      const Member& other = population_.select(rng.fork(2, draw), core);
      // A model that is asked the same twice says the same.
      if (of_model && was_crossed(parents.front()->strategy_id, other.strategy_id)) continue;
      const double apart =
          distance(space_, parents.front()->individual.strategy, other.individual.strategy);
      if (apart > farthest) {
        farthest = apart;
        second = &other;
      }
    }
    if (second != nullptr) parents.push_back(second);
    if (second == nullptr) kind = BreedKind::mutate;
  }
  brief.kind = kind;
  brief.parents.clear();
  std::vector<std::string> ids;
  for (const Member* parent : parents) {
    brief.parents.push_back(parent->individual);
    if (!brief.roofline) brief.parents.back().verdict = {};
    ids.push_back(parent->strategy_id);
  }
  return ids;
}

std::vector<StrategyBrief::Beside> EvolutionPolicy::parents_beside(
    const PolicyView& view, const StrategyBrief& brief, const std::vector<std::string>& ids,
    const std::string& core, const Rng& rng) const {
  constexpr int draws_a_question = 4;
  std::vector<StrategyBrief::Beside> all;
  if (brief.kind == BreedKind::seed || population_.members().empty()) return all;
  std::int64_t count = strategist_.questions_at_once(options_.lookahead);
  const std::int64_t most_draws = draws_a_question * count;
  // The last slots ask for no more than they need.
  if (view.max_evaluations > 0)
    count = std::min(count, count * (view.max_evaluations - view.spent) / options_.lookahead);
  std::set<std::set<std::string>> met = {{ids.begin(), ids.end()}};
  for (std::int64_t draw = 0; draw < most_draws && std::ssize(all) + 1 < count; ++draw) {
    Rng own = rng.fork(static_cast<std::uint64_t>(draw));
    StrategyBrief other;
    other.slot = brief.slot;
    other.generation = brief.generation;
    other.roofline = brief.roofline;
    const BreedKind drawn = draw_kind(own, options_.steering.crossover);
    const std::vector<std::string> parents =
        choose_parents(other, drawn == BreedKind::cross ? drawn : BreedKind::mutate, core, own);
    if (met.insert({parents.begin(), parents.end()}).second)
      all.push_back({other.kind, std::move(other.parents)});
  }
  return all;
}

bool EvolutionPolicy::was_crossed(const std::string& a, const std::string& b) const {
  const auto has = [](const std::vector<std::string>& parents, const std::string& id) {
    return std::find(parents.begin(), parents.end(), id) != parents.end();
  };
  const auto crosses = [&](const Strategy& strategy) {
    return strategy.parents.size() > 1 && has(strategy.parents, a) && has(strategy.parents, b);
  };
  for (std::int64_t i = observed_; i < slots_.size(); ++i)
    if (crosses(slots_[i].strategy)) return true;
  return std::any_of(history_.begin(), history_.end(),
                     [&](const StrategyBrief::Tried& one) { return crosses(one.strategy); });
}

Proposal EvolutionPolicy::repair() const {
  const std::int64_t refused = repairable_.front();
  Proposal proposal;
  proposal.kind = BreedKind::repair;
  proposal.strategy = slots_[refused].strategy;
  proposal.strategy.parents = {slots_[refused].strategy_id};
  proposal.failed = static_cast<std::uint64_t>(refused) + 1;
  return proposal;
}

// The likeliest untried neighbour of the fastest kernels: numeric tuning.
std::optional<Strategy> EvolutionPolicy::tuned(const PolicyView& view, Rng rng) {
  std::vector<const Member*> by_speed;
  for (const Member& member : population_.members()) by_speed.push_back(&member);
  std::sort(by_speed.begin(), by_speed.end(),
            [](const Member* a, const Member* b) { return faster(a->individual, b->individual); });
  if (neighbourhood_.size() > neighbourhoods_kept) neighbourhood_.clear();
  for (std::size_t rank = 0; rank < by_speed.size() && rank < 3; ++rank) {
    const Member& champion = *by_speed[rank];
    auto found = neighbourhood_.find(champion.strategy_id);
    if (found == neighbourhood_.end()) {
      found = neighbourhood_
                  .emplace(champion.strategy_id, neighbours(space_, champion.individual.strategy))
                  .first;
    }
    std::vector<const Strategy*> open;
    for (const Strategy& strategy : found->second) {
      if (!view.tried(strategy_id(strategy))) open.push_back(&strategy);
    }
    if (open.empty()) continue;
    const Strategy* pick =
        open[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(open.size())))];
    if (foresees()) {
      double best = -1e300;
      for (const Strategy* strategy : open) {
        const double value = promise(*strategy, best);
        if (value <= best) continue;
        best = value;
        pick = strategy;
      }
    }
    Strategy child = *pick;
    child.parents = {champion.strategy_id};
    return child;
  }
  return std::nullopt;
}

// Small changes while the surrogate sees a gain: cheap next to an evaluation.
Strategy EvolutionPolicy::local_search(const PolicyView& view, Strategy pick, double value,
                                       const Rng& rng) const {
  std::vector<std::vector<Use>>
      met;  // one that was passed over once is again, for the mark never falls
  for (int draw = 0; draw < 2 * options_.offspring_per_slot; ++draw) {
    Strategy changed =
        mutate(space_, pick, 1, {}, rng.fork(1000, static_cast<std::uint64_t>(draw)));
    if (std::find(met.begin(), met.end(), changed.uses) != met.end()) continue;
    met.push_back(changed.uses);
    const double better = promise(changed, value);
    if (better <= value || view.tried(strategy_id(changed))) continue;
    changed.parents = pick.parents;
    value = better;
    pick = std::move(changed);
  }
  return pick;
}

// Plans how a slot's child is chosen. Seeds spread a search that knows nothing; with forecasts they
// are chosen as all children are, and what came of the first ones is bred from at once.
EvolutionPolicy::OffspringPlan EvolutionPolicy::offspring_plan(const PolicyView& view,
                                                               Rng& rng) const {
  const bool forecasts = static_cast<bool>(knowledge_.forecast);
  const bool first = view.generation == 0, empty = population_.members().empty();
  OffspringPlan offspring;
  offspring.seeds = empty || (first && !forecasts) ? 1
                    : !forecasts                   ? 0
                    : first                        ? seed_share
                                                   : late_seed_share;
  offspring.spreading = offspring.seeds >= 1 && !forecasts;
  // The strategies of earlier runs are tried once whatever is expected of them.
  const bool recalled =
      forecasts && view.slot == 0 && options_.steering.pool && !knowledge_.remembered.empty();
  const bool judged = !strategist_.is_expensive(view.slot, view.generation) && !recalled &&
                      options_.offspring_per_slot > 1 && foresees();
  const bool screened =
      judged && !rng.chance(offspring.spreading ? unscreened_seeds : unscreened_share);
  offspring.size = screened ? options_.offspring_per_slot : 1;
  // A short run ends with its first slots.
  if (screened && first && forecasts && view.slot < first_slots) offspring.size *= broods_of_first;
  return offspring;
}

// The core whose turn a slot is and of which nothing was proposed; "": none.
std::string EvolutionPolicy::unmet_core(const PolicyView& view) const {
  const int turns = view.generation == 0 ? first_turns : late_turns;
  if (!knowledge_.forecast || view.slot % turns != 1 ||
      strategist_.is_expensive(view.slot, view.generation))
    return "";
  std::set<std::string> met;
  for (std::int64_t i = first_looked_at(view); i < view.slot; ++i)
    met.insert(population_.core_of(slots_[i].strategy));
  std::vector<std::string> unmet;
  for (const Technique& technique : space_.techniques())
    if (technique.group == "core" && met.count(technique.name) == 0)
      unmet.push_back(technique.name);
  if (unmet.empty()) return "";
  return unmet[static_cast<std::size_t>(view.slot / turns) % unmet.size()];
}

// Forecasts err more between cores than within one: some slots go to a core of which nothing was
// proposed, one core after the other, unless it is expected to lag far behind the others, or behind
// the best of them once it turned out slower than was expected of it.
// The seed of that core of which most is expected.
Result<std::optional<Strategy>> EvolutionPolicy::first_of_core(const PolicyView& view,
                                                               const Rng& rng) {
  std::optional<Strategy> best;
  const std::string core = unmet_core(view);
  if (core.empty()) return best;
  StrategyBrief brief = brief_for(view, false);
  brief.kind = BreedKind::seed;
  double most = -1e300, ahead = -1e300;
  for (int draw = 0; draw < broods_of_core * options_.offspring_per_slot; ++draw) {
    auto proposed = strategist_.propose(brief, rng.fork(static_cast<std::uint64_t>(draw)));
    if (!proposed) return proposed.error();
    if (!*proposed || population_.core_of(**proposed) != core) continue;
    const double expected = prior_of(**proposed);
    if (expected <= most || view.tried(strategy_id(**proposed))) continue;
    most = expected;
    best = std::move(**proposed);
  }
  for (std::int64_t i = first_looked_at(view); best && i < view.slot; ++i)
    ahead = std::max(ahead, prior_of(slots_[i].strategy));
  if (!population_.members().empty()) ahead = std::min(ahead, population_.fittest());
  if (ahead - most > hopeless_octaves) return std::optional<Strategy>();
  return best;
}

Result<std::optional<Strategy>> EvolutionPolicy::child(const PolicyView& view, Rng rng,
                                                       BreedKind& kind) {
  const OffspringPlan offspring = offspring_plan(view, rng);
  const std::string core = offspring.spreading
                               ? ""
                               : population_.draw_core(Rng::of(
                                     options_.seed, "core", static_cast<std::uint64_t>(view.slot)));
  std::optional<Strategy> pick;
  std::string pick_id;
  double pick_value = -1e300;
  std::optional<StrategyBrief> briefs[2];  // without and with parents
  for (int draw = 0; draw < offspring.size; ++draw) {
    Rng own = rng.fork(static_cast<std::uint64_t>(draw));
    const bool seed = offspring.seeds >= 1 || (offspring.seeds > 0 && own.chance(offspring.seeds));
    const BreedKind asked = seed ? BreedKind::seed : draw_kind(own, options_.steering.crossover);
    const bool of_parents = asked == BreedKind::mutate || asked == BreedKind::cross;
    std::optional<StrategyBrief>& told = briefs[of_parents ? 1 : 0];
    if (!told) told = brief_for(view, of_parents);
    StrategyBrief& brief = *told;
    std::vector<std::string> parents = choose_parents(brief, asked, core, own.fork(1));
    if (strategist_.is_expensive(view.slot, view.generation))
      brief.beside = parents_beside(view, brief, parents, core, own.fork(3));
    auto proposed = strategist_.propose(brief, own.fork(2));
    if (!proposed) return proposed.error();
    if (!*proposed) continue;
    std::string id = strategy_id(**proposed);
    if (view.tried(id)) continue;
    // Another core is taken only when nothing else came.
    if (!core.empty() && population_.core_of(**proposed) != core &&
        (pick || draw + 1 < offspring.size))
      continue;
    if (pick && id == pick_id) {
      if (!knowledge_.forecast) break;
      continue;
    }
    Strategy strategy = std::move(**proposed);
    // One that waited for a slot has its own.
    if (strategy.parents.empty()) strategy.parents = std::move(parents);
    const double value = offspring.size > 1 ? promise(strategy, pick_value) : 0;
    if (pick && value <= pick_value) continue;
    pick_value = value;
    kind = brief.kind;
    pick = std::move(strategy);
    pick_id = std::move(id);
  }
  if (!pick || offspring.size == 1 || offspring.spreading) return pick;
  return std::optional(local_search(view, std::move(*pick), pick_value, rng));
}

// When a strategist has nothing new: draws, then whatever lies beside what was tried.
std::optional<Strategy> EvolutionPolicy::random_untried(const PolicyView& view) const {
  for (int draw = 0; draw < tries; ++draw) {
    Strategy strategy =
        sample(space_, Rng::of(options_.seed, "anything", static_cast<std::uint64_t>(view.slot),
                               static_cast<std::uint64_t>(draw)));
    if (!view.tried(strategy_id(strategy))) return strategy;
  }
  const std::int64_t size = slots_.size();
  for (std::int64_t at = size - 1; at >= std::max<std::int64_t>(0, size - tries); --at) {
    for (Strategy& strategy : neighbours(space_, slots_[at].strategy)) {
      if (!view.tried(strategy_id(strategy))) return std::move(strategy);
    }
  }
  return std::nullopt;
}

// A new strategy for this slot, of whatever kind; without one the space is exhausted.
Result<std::optional<Proposal>> EvolutionPolicy::fresh(const PolicyView& view, Rng rng) {
  Proposal proposal;
  std::optional<Strategy> strategy;
  if (tuning(view) && view.generation > 0 && !strategist_.proposes_all()) {
    strategy = tuned(view, Rng::of(options_.seed, "tune", static_cast<std::uint64_t>(view.slot)));
    if (strategy) proposal.kind = BreedKind::tune;
  }
  if (!strategy) {
    auto seed = first_of_core(
        view, Rng::of(options_.seed, "core seed", static_cast<std::uint64_t>(view.slot)));
    if (!seed) return seed.error();
    strategy = std::move(*seed);
    if (strategy) proposal.kind = BreedKind::seed;
  }
  if (!strategy) {
    auto bred = child(view, std::move(rng), proposal.kind);
    if (!bred) return bred.error();
    strategy = std::move(*bred);
  }
  if (!strategy && !strategist_.proposes_all()) {
    strategy = random_untried(view);
    proposal.kind = BreedKind::explore;
  }
  if (!strategy) return std::optional<Proposal>();
  proposal.strategy = std::move(*strategy);
  return std::optional(std::move(proposal));
}

Result<std::optional<Proposal>> EvolutionPolicy::propose(const PolicyView& view, Rng rng) {
  begin_slot(view.slot);
  if (options_.offspring_per_slot > 1 && options_.steering.surrogate) {
    fit_surrogate(view.slot);
    surrogate_.update();
  }
  if (!repairable_.empty()) {
    Proposal mended = repair();
    mended.silent = strategist_.unavailable_since() == view.generation;
    return std::optional(std::move(mended));
  }
  const bool expensive = strategist_.is_expensive(view.slot, view.generation);
  auto bred = fresh(view, rng);
  if (bred && *bred) {
    (*bred)->silent = strategist_.unavailable_since() == view.generation;
    if (expensive) (*bred)->strategist = strategist_.saved();
  }
  return bred;
}

}  // namespace cupilot
