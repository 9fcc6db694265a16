#include <algorithm>
#include <cmath>
#include <map>

#include "agents/propose/technique_weights.hpp"
#include "agents/propose/untried.hpp"
#include "strategy/edit.hpp"
#include "strategy/genome.hpp"
#include "strategy/skeleton_plan.hpp"

namespace cupilot {
namespace {

constexpr int attempts = 12;        // of the rule asked for, before a random sample
constexpr int fallback_draws = 24;  // random samples before the space counts as exhausted
constexpr int spread_draws = 8;  // samples of which the one farthest from the population is taken
constexpr double informed_share =
    0.5;  // of samples, drawn around the starting values instead of uniformly
constexpr double memory_share = 0.25, pattern_share = 0.15;  // of seeds that forecasts choose from

// Starting points that follow from what techniques relieve first of all: for every core (without
// any: once) the kernel with all that feeds the zone's pipes, the one that hides latency, the one
// that saves traffic, and the bare one. What relieves occupancy, launches or the tail first of all
// costs elsewhere: it has to be asked for by a verdict.
std::vector<std::vector<Resource>> emphases(Zone zone) {
  std::vector<Resource> of_zone = resources_of(zone);
  std::erase_if(of_zone, [](Resource r) {
    return r == Resource::occupancy || r == Resource::tail || r == Resource::launch;
  });
  return {of_zone,
          {Resource::latency, Resource::shared, Resource::issue},
          {Resource::dram, Resource::l2, Resource::shared},
          {}};
}

Strategy pattern(const Space& space, const Technique* core, const std::vector<Resource>& emphasis) {
  Strategy wish;
  // Values are left to the kernel that serves: each has starting values of its own.
  if (core != nullptr) wish.uses.push_back({core->name, {}, "", {}});
  for (const Technique& technique : space.techniques()) {
    if (technique.targets.empty() || !technique.group.empty()) continue;
    const bool matters =
        std::find(emphasis.begin(), emphasis.end(), technique.targets.front()) != emphasis.end();
    if (matters) wish.uses.push_back({technique.name, {}, "", {}});
  }
  Result<Completion> whole = space.complete(wish);
  return whole ? std::move(whole->strategy) : wish;
}

bool has_core(const Space& space, const Strategy& strategy) {
  const std::vector<Technique>& rows = space.techniques();
  return std::any_of(rows.begin(), rows.end(), [&](const Technique& row) {
    return row.group == "core" && find_use(strategy, row.name) != nullptr;
  });
}

// True if a kernel of the space is built on no core, beside those that are.
bool does_without_core(const Space& space) {
  const Result<Completion> bare = space.complete(Strategy());
  return bare && !has_core(space, bare->strategy);
}

// Counts the zone's resources that a technique relieves; 0 for all without a roofline.
std::ptrdiff_t relieved_in(const StrategyBrief& brief, const Technique& technique) {
  if (!brief.roofline) return 0;
  const std::vector<Resource>& resources = resources_of(brief.zone);
  return std::count_if(resources.begin(), resources.end(), [&](Resource r) {
    return std::find(technique.targets.begin(), technique.targets.end(), r) !=
           technique.targets.end();
  });
}

std::optional<Strategy> untried_pattern(const StrategyBrief& brief) {
  std::vector<const Technique*> cores;
  for (const Technique& technique : brief.space->techniques()) {
    if (technique.group == "core") cores.push_back(&technique);
  }
  // Cores that relieve most of the zone come first: a short run may end before the last pattern.
  std::stable_sort(cores.begin(), cores.end(), [&](const Technique* a, const Technique* b) {
    return relieved_in(brief, *a) > relieved_in(brief, *b);
  });
  if (cores.empty() || does_without_core(*brief.space)) cores.push_back(nullptr);
  for (const std::vector<Resource>& emphasis : emphases(brief.zone)) {
    for (const Technique* core : cores) {
      Strategy strategy = pattern(*brief.space, core, emphasis);
      if (!was_tried(brief, strategy)) return strategy;
    }
  }
  return std::nullopt;
}

std::int64_t near_start(const Knob& knob, Rng& rng) {
  const double u = rng.unit();
  const auto count = static_cast<int>(knob.domain.size());
  if (u < 0.2) return knob.domain[static_cast<std::size_t>(rng.below(count))];
  const int at = nearest(knob.domain, knob.fallback);
  const int step = u < 0.6 ? 0 : rng.chance(0.5) ? 1 : -1;
  return knob.domain[static_cast<std::size_t>(std::clamp(at + step, 0, count - 1))];
}

// A sample that knows the zone and where a search starts: more of what matters there, values a step
// around the start.
Strategy informed_sample(const StrategyBrief& brief, Rng rng) {
  const std::shared_ptr<const GenomeSpace> space = genomes_of(*brief.space);
  const Alphabet& alphabet = space->alphabet();
  const std::vector<Technique>& techniques = brief.space->techniques();
  Genome wish = sample(*space, rng.fork(1));
  for (std::size_t i = 0; i < techniques.size(); ++i) {
    if (!techniques[i].group.empty() || holds(wish, alphabet.offered[i])) continue;
    if (relieved_in(brief, techniques[i]) > 0 && rng.chance(0.5))
      wish.uses.push_back(alphabet.offered[i]);
  }
  for (const int t : wish.uses) {
    if (t < 0) continue;
    for (const int k : alphabet.knobs_of[static_cast<std::size_t>(t)]) {
      wish.values[static_cast<std::size_t>(k)] =
          near_start(alphabet.knobs[static_cast<std::size_t>(k)], rng);
    }
  }
  const std::optional<Genome> done = space->completed(wish, {});
  return alphabet.spell(done ? *done : wish);
}

// Share of the zone's resources that a core relieves, against the best core: a core that cannot is
// drawn less often; 1 without a core.
double core_share(const StrategyBrief& brief, const Strategy& strategy) {
  if (!has_core(*brief.space, strategy)) return 1;
  double own = 0, most = 0;
  for (const Technique& technique : brief.space->techniques()) {
    if (technique.group != "core") continue;
    const auto relieved = static_cast<double>(relieved_in(brief, technique));
    most = std::max(most, relieved);
    if (find_use(strategy, technique.name) != nullptr) own = relieved;
  }
  return most > 0 ? own / most : 1;
}

// Distance to the nearest of the population; infinite where there is none.
double nearest_distance(const StrategyBrief& brief, const Strategy& strategy) {
  double least = INFINITY;
  for (const Strategy& other : brief.population)
    least = std::min(least, distance(*brief.space, strategy, other));
  return least;
}

std::optional<Strategy> far_sample(const StrategyBrief& brief, const Rng& rng) {
  std::optional<Strategy> best;
  double most = -1;
  for (int draw = 0; draw < spread_draws; ++draw) {
    Rng own = rng.fork(static_cast<std::uint64_t>(draw));
    const bool informed = own.chance(informed_share);
    Strategy strategy =
        informed ? informed_sample(brief, own.fork(1)) : sample(*brief.space, own.fork(2));
    if (was_tried(brief, strategy)) continue;
    const double apart = nearest_distance(brief, strategy) * core_share(brief, strategy);
    if (apart <= most) continue;
    most = apart;
    best = std::move(strategy);
  }
  return best;
}

// The best of what earlier runs found that was not tried.
std::optional<Strategy> untried_memory(const StrategyBrief& brief) {
  for (const Strategy& strategy : brief.remembered) {
    if (!was_tried(brief, strategy)) return strategy;
  }
  return std::nullopt;
}

std::optional<Strategy> untried(const StrategyBrief& brief, Strategy strategy) {
  return was_tried(brief, strategy) ? std::nullopt : std::optional(std::move(strategy));
}

// One of many seeds, of which forecasts choose: they say what is fast, so that samples need not
// keep apart by themselves.
std::optional<Strategy> forecast_seed(const StrategyBrief& brief, Rng rng) {
  const double u = rng.unit();
  if (u < memory_share || brief.population.empty()) {
    if (std::optional<Strategy> strategy = untried_memory(brief)) return strategy;
  }
  if (u < memory_share + pattern_share) {
    if (std::optional<Strategy> strategy = untried_pattern(brief)) return strategy;
  }
  Strategy strategy = rng.chance(informed_share) ? informed_sample(brief, rng.fork(1))
                                                 : sample(*brief.space, rng.fork(2));
  return untried(brief, std::move(strategy));
}

std::optional<Strategy> seed(const StrategyBrief& brief, const Rng& rng) {
  if (brief.forecast) return forecast_seed(brief, rng);
  if (std::optional<Strategy> strategy = untried_memory(brief)) return strategy;
  if (!brief.roofline) return far_sample(brief, rng);
  // Every other seed is a pattern while there are any, so that a short run meets both.
  if (brief.population.size() % 2 == 0) {
    if (std::optional<Strategy> strategy = untried_pattern(brief)) return strategy;
  }
  return far_sample(brief, rng);
}

int draw_steps(Rng& rng) {
  const double u = rng.unit();
  return u < 0.55 ? 1 : u < 0.85 ? 2 : 3;
}

Strategy mutated(const StrategyBrief& brief, const Individual& parent, Rng rng) {
  const std::map<std::string, double> weights = change_weights(brief, parent);
  const int steps = draw_steps(rng);
  return mutate(
      *brief.space, parent.strategy, steps,
      [&](const std::string& technique) { return weights.at(technique); }, rng);
}

// Returns the probability with which a technique of only one parent is passed on.
double inheritance(const StrategyBrief& brief, const Technique* row, const Individual& better,
                   bool of_better) {
  if (row == nullptr) return 0.5;
  const double gain = learnt_gain(brief, row->name);
  const double chance = (of_better ? 0.85 : 0.5) + 0.25 * std::clamp(gain, -1.0, 1.0);
  return std::clamp(chance + (of_better ? 0.0 : 0.3 * relief(brief, *row, better.verdict)), 0.05,
                    0.98);
}

// Two parents as numbers.
struct Crossing {
  const StrategyBrief& brief;
  const Individual& better;
  std::shared_ptr<const GenomeSpace> space;
  Genome first, second;                  // the better one's and the other's
  std::vector<const Technique*> rows;    // by technique; null: the space does not offer it
  std::vector<std::vector<int>> stated;  // by technique: its knobs, in the order of their names
};

Crossing crossing_of(const StrategyBrief& brief) {
  const Individual& a = brief.parents[0];
  const Individual& b = brief.parents[1];
  const bool a_first = a.fitness >= b.fitness;
  Crossing crossing{brief, a_first ? a : b, genomes_of(*brief.space), {}, {}, {}, {}};
  const Alphabet& alphabet = crossing.space->alphabet();
  crossing.first = alphabet.read(crossing.better.strategy);
  crossing.second = alphabet.read((a_first ? b : a).strategy);
  crossing.rows.resize(alphabet.names.size());
  for (std::size_t i = 0; i < alphabet.offered.size(); ++i)
    crossing.rows[static_cast<std::size_t>(alphabet.offered[i])] = &brief.space->techniques()[i];
  crossing.stated = alphabet.knobs_of;
  const auto by_name = [&](int x, int y) {
    return alphabet.knobs[static_cast<std::size_t>(x)].parameter <
           alphabet.knobs[static_cast<std::size_t>(y)].parameter;
  };
  for (std::vector<int>& knobs : crossing.stated) std::sort(knobs.begin(), knobs.end(), by_name);
  return crossing;
}

// The union of both parents, the better one's parameters first; what only the other has comes in
// where it helps.
std::optional<Genome> crossed(const Crossing& crossing, Rng rng) {
  const auto row_of = [&](int t) {
    return t < 0 ? nullptr : crossing.rows[static_cast<std::size_t>(t)];
  };
  const auto passed_on = [&](int t, bool of_better) {
    return rng.chance(inheritance(crossing.brief, row_of(t), crossing.better, of_better));
  };
  // Values of techniques that both hold come from the better parent this often: between copying it
  // and a fair mix.
  const double loyalty = 0.5 + 0.4 * rng.unit();
  Genome wish{{}, std::vector<std::int64_t>(crossing.first.values.size(), Genome::unset), false};
  const auto take = [&](const Genome& from, int t) {
    wish.uses.push_back(t);
    if (t < 0) return;
    for (const int k : crossing.stated[static_cast<std::size_t>(t)])
      wish.values[static_cast<std::size_t>(k)] = from.values[static_cast<std::size_t>(k)];
  };
  for (const int t : crossing.first.uses) {
    const bool both = t >= 0 && holds(crossing.second, t);
    const bool core = row_of(t) != nullptr && !row_of(t)->group.empty();
    if (!both && !core && !passed_on(t, true)) continue;
    take(crossing.first, t);
    if (!both) continue;
    for (const int k : crossing.stated[static_cast<std::size_t>(t)]) {
      const std::int64_t theirs = crossing.second.values[static_cast<std::size_t>(k)];
      if (theirs != Genome::unset && !rng.chance(loyalty))
        wish.values[static_cast<std::size_t>(k)] = theirs;
    }
  }
  for (const int t : crossing.second.uses) {
    if ((t < 0 || !holds(crossing.first, t)) && passed_on(t, false)) take(crossing.second, t);
  }
  return crossing.space->completed(wish, {});
}

// Crosses until a child is new: close parents give the same child again and again.
std::optional<Strategy> untried_cross(const StrategyBrief& brief, const Rng& rng) {
  const Crossing crossing = crossing_of(brief);
  std::vector<Genome> refused;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    std::optional<Genome> child = crossed(crossing, rng.fork(1, attempt));
    if (!child || std::find(refused.begin(), refused.end(), *child) != refused.end()) continue;
    if (auto strategy = untried(brief, crossing.space->alphabet().spell(*child))) return strategy;
    refused.push_back(std::move(*child));
  }
  return std::nullopt;
}

// The nearest untried neighbour: one coordinate, then pairs of them.
std::optional<Strategy> tuned(const StrategyBrief& brief, Rng rng) {
  const Individual& champion = brief.parents[0];
  std::vector<Strategy> near = neighbours(*brief.space, champion.strategy);
  std::stable_sort(near.begin(), near.end(), [&](const Strategy& a, const Strategy& b) {
    return distance(*brief.space, champion.strategy, a) <
           distance(*brief.space, champion.strategy, b);
  });
  for (Strategy& strategy : near) {
    if (!was_tried(brief, strategy)) return std::move(strategy);
  }
  for (std::size_t tries = 0; tries < near.size(); ++tries) {
    const Strategy& through =
        near[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(near.size())))];
    for (Strategy& strategy : neighbours(*brief.space, through)) {
      if (!was_tried(brief, strategy)) return std::move(strategy);
    }
  }
  return std::nullopt;
}

class RuleStrategist final : public Strategist {
 public:
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    if (Result<void> checked = check_brief(brief); !checked) return checked.error();
    std::optional<Strategy> strategy = by_rule(brief, rng);
    if (!strategy) strategy = untried_sample(brief, fallback_draws, rng.fork(2));
    if (!strategy) return strategy;
    strategy->origin = name_of(brief.kind);
    strategy->parents.clear();
    for (const Individual& parent : brief.parents)
      strategy->parents.push_back(strategy_id(parent.strategy));
    strategy->rationale = reason(brief, *strategy);
    return strategy;
  }

 private:
  // One that was not tried.
  static std::optional<Strategy> by_rule(const StrategyBrief& brief, const Rng& rng) {
    if (brief.kind == BreedKind::cross && brief.parents.size() >= 2)
      return untried_cross(brief, rng);
    std::optional<Strategy> strategy;
    for (std::uint64_t attempt = 0; attempt < attempts && !strategy; ++attempt)
      strategy = once(brief, rng.fork(1, attempt));
    return strategy;
  }
  static std::optional<Strategy> once(const StrategyBrief& brief, const Rng& rng) {
    if (brief.kind == BreedKind::tune && !brief.parents.empty()) return tuned(brief, rng);
    if ((brief.kind == BreedKind::mutate || brief.kind == BreedKind::cross) &&
        !brief.parents.empty()) {
      return untried(brief, mutated(brief, brief.parents[0], rng));
    }
    return brief.kind == BreedKind::seed ? seed(brief, rng) : far_sample(brief, rng);
  }

  // Names the changes against the first parent, and the resource that binds that parent.
  static std::string reason(const StrategyBrief& brief, const Strategy& strategy) {
    if (brief.parents.empty())
      return brief.kind == BreedKind::seed ? "spreads over the space" : "far from what was tried";
    const Individual& parent = brief.parents[0];
    std::string change;
    const auto add = [&](const char* sign, const std::string& technique) {
      change += (change.empty() ? "" : " ") + (sign + technique);
    };
    for (const Use& use : strategy.uses) {
      const Use* before = find_use(parent.strategy, use.technique);
      if (before == nullptr) add("+", use.technique);
      if (before != nullptr && before->values != use.values) add("~", use.technique);
    }
    for (const Use& use : parent.strategy.uses) {
      if (find_use(strategy, use.technique) == nullptr) add("-", use.technique);
    }
    if (parent.verdict.bottlenecks.empty()) return change;
    return "against " + std::string(name_of(parent.verdict.bottlenecks[0].resource)) + ": " +
           change;
  }
};

}  // namespace

std::unique_ptr<Strategist> rule_strategist() { return std::make_unique<RuleStrategist>(); }

}  // namespace cupilot
