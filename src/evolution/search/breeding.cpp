#include <algorithm>
#include <cmath>

#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

// Shares of the kinds of children, and of slots that take their first child unscreened, so that a
// wrong surrogate cannot hold the search.
constexpr double explore_share = 0.10, cross_share = 0.45, unscreened_share = 0.15,
                 unscreened_seeds = 0.5;
// Of a brood once a forecast's first results are in: of generation 0, and later, since the best may
// lie nowhere near what is known.
constexpr double seed_share = 0.5, late_seed_share = 0.3;
constexpr int tries = latest_kept;  // draws before a space counts as exhausted
constexpr int neighbourhoods_kept = 8;

BreedKind draw_kind(Rng& rng, bool crossover) {
  const double u = rng.unit();
  if (u < explore_share) return BreedKind::explore;
  return crossover && u < explore_share + cross_share ? BreedKind::cross : BreedKind::mutate;
}

// What this run saw of a technique and what earlier ones did: means weighted by how often.
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

bool Search::State::was_tried(const std::string& id) const { return tried.contains(id); }

// What is on its way: proposed, not yet absorbed.
std::vector<Strategy> Search::State::recent(std::int64_t slot) const {
  std::vector<Strategy> all;
  for (std::int64_t i = absorbed; i < slot; ++i) all.push_back(slots[i].proposal.strategy);
  return all;
}

StrategyBrief Search::State::brief_for(std::int64_t slot, bool of_parents) const {
  StrategyBrief brief;
  brief.space = &space;
  brief.zone = options.steering.roofline ? zone : Zone::middle;
  brief.tried = [this](const std::string& id) { return was_tried(id); };
  if (!of_parents) {
    for (const Member& member : population.members())
      brief.population.push_back(member.individual.strategy);
    for (Strategy& strategy : recent(slot)) brief.population.push_back(std::move(strategy));
  }
  brief.effects = effects.effects();
  brief.slot = slot;
  brief.generation = generation_of(slot);
  brief.failures.assign(failures.begin(), failures.end());
  brief.forecast = knowledge.forecast;
  if (options.steering.pool) {
    brief.remembered = knowledge.remembered;
    add(brief.effects, knowledge.effects);
  }
  brief.roofline = options.steering.roofline;
  return brief;
}

std::vector<std::string> Search::State::choose_parents(StrategyBrief& brief, BreedKind kind,
                                                       const std::string& core,
                                                       const Rng& rng) const {
  std::vector<const Member*> parents;
  if (kind == BreedKind::mutate || kind == BreedKind::cross)
    parents.push_back(&population.select(rng.fork(1), core));
  if (kind == BreedKind::cross) {
    // Of a few winners the one that differs most: its techniques complement the first one's.
    const Member* second = nullptr;
    double farthest = 0;
    for (std::uint64_t draw = 0; draw < 3; ++draw) {
      const Member& other = population.select(rng.fork(2, draw), core);
      const double apart =
          distance(space, parents.front()->individual.strategy, other.individual.strategy);
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

Proposal Search::State::repair() {
  const SearchSlot& refused = slots[repairable.front()];
  Proposal proposal;
  proposal.kind = BreedKind::repair;
  proposal.strategy = refused.proposal.strategy;
  proposal.strategy.parents = {refused.strategy_id};
  proposal.failed = refused.proposal.id;
  return proposal;
}

// The likeliest untried neighbour of the fastest kernels: numeric tuning.
std::optional<Strategy> Search::State::tuned(Rng rng) {
  std::vector<const Member*> by_speed;
  for (const Member& member : population.members()) by_speed.push_back(&member);
  std::sort(by_speed.begin(), by_speed.end(),
            [](const Member* a, const Member* b) { return faster(a->individual, b->individual); });
  if (neighbourhood.size() > neighbourhoods_kept) neighbourhood.clear();
  for (std::size_t rank = 0; rank < by_speed.size() && rank < 3; ++rank) {
    const Member& champion = *by_speed[rank];
    auto found = neighbourhood.find(champion.strategy_id);
    if (found == neighbourhood.end()) {
      found = neighbourhood
                  .emplace(champion.strategy_id, neighbours(space, champion.individual.strategy))
                  .first;
    }
    std::vector<const Strategy*> open;
    for (const Strategy& strategy : found->second) {
      if (!was_tried(strategy_id(strategy))) open.push_back(&strategy);
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
Strategy Search::State::local_search(Strategy pick, double value, const Rng& rng) const {
  std::vector<std::vector<Use>>
      met;  // what was passed over once is again, for the mark never falls
  for (int draw = 0; draw < 2 * options.offspring_per_slot; ++draw) {
    Strategy changed = mutate(space, pick, 1, {}, rng.fork(1000, static_cast<std::uint64_t>(draw)));
    if (std::find(met.begin(), met.end(), changed.uses) != met.end()) continue;
    met.push_back(changed.uses);
    const double better = promise(changed, value);
    if (better <= value || was_tried(strategy_id(changed))) continue;
    changed.parents = pick.parents;
    value = better;
    pick = std::move(changed);
  }
  return pick;
}

// How a slot's child is chosen. Seeds spread a search that knows nothing; with forecasts they are
// chosen as all children are, and what came of the first ones is bred from at once.
Search::State::OffspringPlan Search::State::offspring_plan(std::int64_t slot, Rng& rng) const {
  const bool forecasts = static_cast<bool>(knowledge.forecast);
  const bool first = generation_of(slot) == 0, empty = population.members().empty();
  OffspringPlan offspring;
  offspring.seeds = empty || (first && !forecasts) ? 1
                    : !forecasts                   ? 0
                    : first                        ? seed_share
                                                   : late_seed_share;
  offspring.spreading = offspring.seeds >= 1 && !forecasts;
  // What earlier runs found is tried once whatever is expected of it.
  const bool recalled =
      forecasts && slot == 0 && options.steering.pool && !knowledge.remembered.empty();
  const bool judged = !strategist.is_expensive(slot, generation_of(slot)) && !recalled &&
                      options.offspring_per_slot > 1 && foresees();
  const bool screened =
      judged && !rng.chance(offspring.spreading ? unscreened_seeds : unscreened_share);
  offspring.size = screened ? options.offspring_per_slot : 1;
  return offspring;
}

Result<std::optional<Strategy>> Search::State::child(std::int64_t slot, BreedKind& kind) {
  Rng rng = Rng::of(options.seed, "breed", static_cast<std::uint64_t>(slot));
  const OffspringPlan offspring = offspring_plan(slot, rng);
  const std::string core =
      offspring.spreading
          ? ""
          : population.draw_core(Rng::of(options.seed, "core", static_cast<std::uint64_t>(slot)));
  std::optional<Strategy> pick;
  std::string pick_id;
  double pick_value = -1e300;
  std::optional<StrategyBrief> briefs[2];  // without and with parents
  for (int draw = 0; draw < offspring.size; ++draw) {
    Rng own = rng.fork(static_cast<std::uint64_t>(draw));
    const bool seed = offspring.seeds >= 1 || (offspring.seeds > 0 && own.chance(offspring.seeds));
    const BreedKind asked = seed ? BreedKind::seed : draw_kind(own, options.steering.crossover);
    const bool of_parents = asked == BreedKind::mutate || asked == BreedKind::cross;
    std::optional<StrategyBrief>& told = briefs[of_parents ? 1 : 0];
    if (!told) told = brief_for(slot, of_parents);
    StrategyBrief& brief = *told;
    std::vector<std::string> parents = choose_parents(brief, asked, core, own.fork(1));
    auto proposed = strategist.propose(brief, own.fork(2));
    if (!proposed) return proposed.error();
    if (!*proposed) continue;
    std::string id = strategy_id(**proposed);
    if (was_tried(id)) continue;
    // Of another core only when nothing else came.
    if (!core.empty() && population.core_of(**proposed) != core &&
        (pick || draw + 1 < offspring.size))
      continue;
    if (pick && id == pick_id) {
      if (!knowledge.forecast) break;
      continue;
    }
    Strategy strategy = std::move(**proposed);
    strategy.parents = std::move(parents);
    const double value = offspring.size > 1 ? promise(strategy, pick_value) : 0;
    if (pick && value <= pick_value) continue;
    pick_value = value;
    kind = brief.kind;
    pick = std::move(strategy);
    pick_id = std::move(id);
  }
  if (!pick || offspring.size == 1 || offspring.spreading) return pick;
  return std::optional(local_search(std::move(*pick), pick_value, rng));
}

// When a strategist has nothing new: draws, then whatever lies beside what was tried.
std::optional<Strategy> Search::State::random_untried(std::int64_t slot) const {
  for (int draw = 0; draw < tries; ++draw) {
    Strategy strategy =
        sample(space, Rng::of(options.seed, "anything", static_cast<std::uint64_t>(slot),
                              static_cast<std::uint64_t>(draw)));
    if (!was_tried(strategy_id(strategy))) return strategy;
  }
  for (std::int64_t at = slots.size() - 1; at >= std::max<std::int64_t>(0, slots.size() - tries);
       --at) {
    for (Strategy& strategy : neighbours(space, slots[at].proposal.strategy)) {
      if (!was_tried(strategy_id(strategy))) return std::move(strategy);
    }
  }
  return std::nullopt;
}

// A new strategy for this slot, of whatever kind; without one the space is exhausted.
Result<std::optional<Proposal>> Search::State::fresh(std::int64_t slot) {
  Proposal proposal;
  std::optional<Strategy> strategy;
  if (tuning(slot) && generation_of(slot) > 0) {
    strategy = tuned(Rng::of(options.seed, "tune", static_cast<std::uint64_t>(slot)));
    if (strategy) proposal.kind = BreedKind::tune;
  }
  if (!strategy) {
    auto bred = child(slot, proposal.kind);
    if (!bred) return bred.error();
    strategy = std::move(*bred);
  }
  if (!strategy) {
    strategy = random_untried(slot);
    proposal.kind = BreedKind::explore;
  }
  if (!strategy) return std::optional<Proposal>();
  proposal.strategy = std::move(*strategy);
  return std::optional(std::move(proposal));
}

Result<std::optional<Proposal>> Search::State::breed(std::int64_t slot) {
  if (options.offspring_per_slot > 1 && options.steering.surrogate) {
    fit_surrogate(slot);
    surrogate.update();
  }
  Result<std::optional<Proposal>> bred = repairable.empty() ? fresh(slot) : std::optional(repair());
  if (!bred || !*bred) return bred;
  Proposal& proposal = **bred;
  proposal.strategy.origin = std::string(name_of(proposal.kind));
  proposal.id = static_cast<std::uint64_t>(slot) + 1;
  proposal.epoch = epoch_of(slot);
  proposal.generation = generation_of(slot);
  proposal.slot = slot;
  proposal.silent = strategist.unavailable_since() == proposal.generation;
  return bred;
}

}  // namespace cupilot
