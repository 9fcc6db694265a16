#include <algorithm>
#include <set>

#include <cupilot/parts/agents.hpp>

#include "agents/propose/technique_weights.hpp"
#include "catch.hpp"
#include "strategy/build_space.hpp"
#include "strategy/edit.hpp"
#include "strategy/toy_space.hpp"

using namespace cupilot;

namespace {

Individual individual(const Strategy& strategy, double fitness,
                      std::vector<Bottleneck> bottlenecks = {}) {
  Individual one;
  one.strategy = strategy;
  one.fitness = fitness;
  one.time_us = 100 / (1 + fitness);
  one.verdict.bottlenecks = std::move(bottlenecks);
  return one;
}

struct Tried {
  std::set<std::string> ids;
  void add(const Strategy& strategy) { ids.insert(strategy_id(strategy)); }
  bool has(const Strategy& strategy) const { return ids.contains(strategy_id(strategy)); }
};

StrategyBrief brief_of(const Space& space, BreedKind kind, const Tried& tried) {
  StrategyBrief brief;
  brief.space = &space;
  brief.kind = kind;
  brief.zone = Zone::compute;
  brief.tried = [&tried](const std::string& id) { return tried.ids.contains(id); };
  return brief;
}

Strategy ask(Strategist& strategist, const StrategyBrief& brief, std::uint64_t key) {
  const auto proposed = strategist.propose(brief, Rng::of(7, "test strategist", key));
  REQUIRE(proposed);
  REQUIRE(proposed->has_value());
  return **proposed;
}

std::unique_ptr<Space> tiny_space() {
  // 3 * 2 + switch off or on: 12 strategies.
  Technique a, b, c;
  a.name = "a";
  a.parameters = {{"x", {1, 2, 3}, {}, 1}};
  b.name = "b";
  b.parameters = {{"y", {1, 2}, {}, 1}};
  c.name = "c";
  auto space = build_space({{a, b, c}, {{"all", {"a", "b"}, {}, {}, {}}}});
  REQUIRE(space);
  return std::move(*space);
}

// Completes everything with a technique that it does not list, or nothing at all.
class OddSpace final : public Space {
 public:
  OddSpace(const Space& space, bool completes) : space_(space), completes_(completes) {}
  const std::vector<Technique>& techniques() const override { return space_.techniques(); }
  const std::vector<Knob>& knobs() const override { return space_.knobs(); }
  Result<Completion> complete(const Strategy& wish,
                              const std::vector<std::string>& pinned) const override {
    if (!completes_) return Error{ErrorCode::failure, "completes nothing", "ask another space"};
    auto done = space_.complete(wish, pinned);
    if (done) done->strategy.uses.push_back({"unlisted"});
    return done;
  }
  bool feasible(const Strategy&) const override { return completes_; }
  double size() const override { return 1; }

 private:
  const Space& space_;
  bool completes_;
};

}  // namespace

TEST_CASE(
    "every kind of proposal is feasible, untried, labelled and a function of brief and randomness",
    "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const Strategy a = sample(*space, Rng(1)), b = sample(*space, Rng(2));
  for (const bool rules : {true, false}) {
    const auto strategist = rules ? rule_strategist() : random_strategist();
    const auto again = rules ? rule_strategist() : random_strategist();
    Tried tried;
    tried.add(a);
    tried.add(b);
    std::vector<Strategy> population = {a, b};
    for (std::uint64_t i = 0; i < 60; ++i) {
      for (const BreedKind kind : {BreedKind::seed, BreedKind::cross, BreedKind::mutate,
                                   BreedKind::explore, BreedKind::tune}) {
        StrategyBrief brief = brief_of(*space, kind, tried);
        brief.population = population;
        if (kind == BreedKind::cross) brief.parents = {individual(a, 1), individual(b, 2)};
        if (kind == BreedKind::mutate || kind == BreedKind::tune)
          brief.parents = {individual(a, 1)};
        const Strategy proposed = ask(*strategist, brief, i);
        CHECK(ask(*again, brief, i).uses == proposed.uses);
        CHECK(space->feasible(proposed));
        CHECK_FALSE(tried.has(proposed));
        CHECK(proposed.origin == name_of(kind));
        if (rules) CHECK(proposed.parents.size() == brief.parents.size());
        tried.add(proposed);
        if (population.size() < 16) population.push_back(proposed);
      }
    }
  }
}

TEST_CASE("a small space is exhausted without repeats, then nothing is proposed", "[strategist]") {
  const auto space = tiny_space();
  for (const bool rules : {true, false}) {
    const auto strategist = rules ? rule_strategist() : random_strategist();
    Tried tried;
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < 40; ++i) {
      StrategyBrief brief =
          brief_of(*space, i % 2 == 0 ? BreedKind::seed : BreedKind::explore, tried);
      const auto proposed = strategist->propose(brief, Rng::of(8, "exhaust", i));
      REQUIRE(proposed);
      if (!proposed->has_value()) break;
      CHECK(seen.insert(strategy_id(**proposed)).second);
      tried.add(**proposed);
    }
    CHECK(seen.size() == 12);
    const auto none = strategist->propose(brief_of(*space, BreedKind::explore, tried), Rng(1));
    REQUIRE(none);
    CHECK_FALSE(none->has_value());
  }
}

TEST_CASE("seeds begin with patterns of every core that relieve the zone", "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  Tried tried;
  std::vector<Strategy> patterns;
  while (patterns.size() < 4) {
    StrategyBrief brief = brief_of(*space, BreedKind::seed, tried);
    patterns.push_back(ask(*strategist, brief, patterns.size()));
    tried.add(patterns.back());
  }
  std::set<std::string> cores;
  for (const Strategy& pattern : patterns) cores.insert(pattern.uses.front().technique);
  CHECK(cores == std::set<std::string>{"simt_core", "mma_core"});
  // What hides latency and feeds the pipes is in; what a verdict has to ask for is not.
  CHECK(find_use(patterns[0], "multistage") != nullptr);
  CHECK(find_use(patterns[0], "fragment_double_buffer") != nullptr);
  CHECK(find_use(patterns[0], "split_k") == nullptr);
  CHECK(find_use(patterns[0], "launch_bounds") == nullptr);
}

TEST_CASE("patterns are of kernels that are built on no core too", "[strategist]") {
  Technique core, a, feeds;
  core.name = "core";
  core.group = "core";
  core.targets = {Resource::fp_pipe};
  a.name = "a";
  feeds.name = "feeds";
  feeds.targets = {Resource::fp_pipe};
  const auto space = build_space(
      {{core, a, feeds},
       {{"built", {"core", "a"}, {"feeds"}, {}, {}}, {"bare", {"a"}, {"feeds"}, {}, {}}}});
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Tried tried;
  StrategyBrief brief = brief_of(**space, BreedKind::seed, tried);
  const Strategy first = ask(*strategist, brief, 0);
  CHECK(find_use(first, "core") != nullptr);
  Tried met;
  met.add(first);
  const Strategy second = ask(*strategist, brief_of(**space, BreedKind::seed, met), 1);
  CHECK(find_use(second, "core") == nullptr);
  CHECK(find_use(second, "feeds") != nullptr);
}

TEST_CASE(
    "seeds to choose from by forecast differ from draw to draw, what earlier runs found among them",
    "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Tried none;
  StrategyBrief brief = brief_of(*space, BreedKind::seed, none);
  brief.forecast = [](const Strategy&) { return std::optional(Prediction{5, 1}); };
  brief.remembered = {sample(*space, Rng(77))};
  const std::string remembered = strategy_id(brief.remembered[0]);
  CHECK(strategy_id(ask(*strategist, brief, 0)) == remembered);
  brief.population = {sample(*space, Rng(78))};
  std::set<std::string> ids;
  int recalled = 0;
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    ids.insert(strategy_id(ask(*strategist, brief, draw)));
    recalled += strategy_id(ask(*strategist, brief, draw)) == remembered ? 1 : 0;
  }
  CHECK(ids.size() > 40);
  CHECK(recalled > 5);
  CHECK(recalled < 60);
}

TEST_CASE(
    "a space that completes with what it does not list, or not at all, is bred in without harm",
    "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Tried none;
  Strategy with = sample(*space, Rng(5)), without = sample(*space, Rng(6));
  with.uses.push_back({"unlisted"});
  for (const bool completes : {true, false}) {
    const OddSpace odd(*space, completes);
    int proposed = 0;
    for (std::uint64_t i = 0; i < 60; ++i) {
      for (const BreedKind kind : {BreedKind::seed, BreedKind::explore, BreedKind::cross,
                                   BreedKind::mutate, BreedKind::tune}) {
        StrategyBrief brief = brief_of(odd, kind, none);
        brief.parents = {individual(with, 0.5), individual(without, 0.4)};
        if (i % 2 == 0)
          brief.forecast = [](const Strategy&) { return std::optional(Prediction{5, 1}); };
        const auto one = strategist->propose(brief, Rng::of(7, "odd", i));
        REQUIRE(one);
        proposed += one->has_value() ? 1 : 0;
      }
    }
    if (completes) CHECK(proposed > 100);
  }
}

TEST_CASE("exploring stays farther from the population than plain samples do", "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Tried none;
  std::vector<Strategy> population;
  for (std::uint64_t i = 0; i < 12; ++i)
    population.push_back(sample(*space, Rng::of(9, "population", i)));
  const auto apart = [&](const Strategy& strategy) {
    double least = 1e9;
    for (const Strategy& other : population)
      least = std::min(least, distance(*space, strategy, other));
    return least;
  };
  double explored = 0, sampled = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    StrategyBrief brief = brief_of(*space, BreedKind::explore, none);
    brief.population = population;
    explored += apart(ask(*strategist, brief, i));
    sampled += apart(sample(*space, Rng::of(10, "plain", i)));
  }
  CHECK(explored > 1.1 * sampled);
}

TEST_CASE("a mutation goes where the pressure is and away from what harmed", "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const auto bare = space->complete(Strategy{{{"simt_core", {}, "", {}}}, "", {}, ""});
  REQUIRE(bare);
  const auto added = [&](const std::string& technique, std::vector<Bottleneck> bottlenecks,
                         std::vector<StrategyBrief::Effect> effects) {
    int count = 0;
    const Tried none;
    for (std::uint64_t i = 0; i < 400; ++i) {
      StrategyBrief brief = brief_of(*space, BreedKind::mutate, none);
      brief.parents = {individual(bare->strategy, 0, bottlenecks)};
      brief.effects = effects;
      count += find_use(ask(*strategist, brief, i), technique) != nullptr ? 1 : 0;
    }
    return count;
  };
  const int under_l2 = added("raster", {{Resource::l2, 0.9}}, {});
  const int under_issue = added("raster", {{Resource::issue, 0.9}}, {});
  CHECK(under_l2 > 2 * under_issue);
  CHECK(under_issue > 0);
  const int unknown = added("serpentine", {{Resource::issue, 0.9}}, {});
  const int harmful = added("serpentine", {{Resource::issue, 0.9}}, {{"serpentine", -1.5, 8}});
  const int helpful = added("serpentine", {{Resource::issue, 0.9}}, {{"serpentine", 1.5, 8}});
  CHECK(harmful < unknown);
  CHECK(unknown < helpful);
}

TEST_CASE("a cross keeps what both have and most of the better parent", "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Tried none;
  double from_better = 0, from_other = 0, shared = 0, shared_kept = 0, values = 0, their_values = 0,
         theirs = 0, let_in = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Strategy a = sample(*space, Rng::of(41, "cross", i)),
                   b = sample(*space, Rng::of(42, "cross", i));
    StrategyBrief brief = brief_of(*space, BreedKind::cross, none);
    brief.parents = {individual(a, 1), individual(b, 3)};
    const Strategy child = ask(*strategist, brief, i);
    from_better += distance(*space, child, b);
    from_other += distance(*space, child, a);
    for (const Use& use : a.uses) {
      const Use *in_b = find_use(b, use.technique), *kept = find_use(child, use.technique);
      if (in_b == nullptr) {
        theirs += 1;
        let_in += kept != nullptr ? 1 : 0;
        continue;
      }
      shared += 1;
      shared_kept += kept != nullptr ? 1 : 0;
      for (const auto& [name, value] : use.values) {
        const auto other = in_b->values.find(name);
        if (kept == nullptr || other == in_b->values.end() || other->second == value ||
            kept->values.count(name) == 0)
          continue;
        values += 1;
        their_values += kept->values.at(name) == value ? 1 : 0;
      }
    }
  }
  CHECK(from_better < from_other);
  CHECK(shared_kept / shared > 0.95);
  CHECK(let_in / theirs > 0.2);
  CHECK(let_in / theirs < 0.8);
  CHECK(their_values / values > 0.15);
  CHECK(their_values / values < 0.5);
}

TEST_CASE("tuning takes untried neighbours, nearest first, then pairs", "[strategist]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto strategist = rule_strategist();
  const Strategy champion = sample(*space, Rng(5));
  std::set<std::string> around;
  for (const Strategy& neighbour : neighbours(*space, champion))
    around.insert(strategy_id(neighbour));
  Tried tried;
  tried.add(champion);
  double last = 0;
  for (std::size_t i = 0; i < around.size(); ++i) {
    StrategyBrief brief = brief_of(*space, BreedKind::tune, tried);
    brief.parents = {individual(champion, 1)};
    const Strategy proposed = ask(*strategist, brief, i);
    CHECK(around.count(strategy_id(proposed)) == 1);
    CHECK(distance(*space, champion, proposed) >= last);
    last = distance(*space, champion, proposed);
    tried.add(proposed);
  }
  StrategyBrief brief = brief_of(*space, BreedKind::tune, tried);
  brief.parents = {individual(champion, 1)};
  CHECK(around.count(strategy_id(ask(*strategist, brief, 99))) == 0);
}

TEST_CASE("pressures, zones and experience weigh techniques", "[strategist]") {
  const Technique& raster = *find_technique("raster");
  Verdict verdict;
  verdict.bottlenecks = {{Resource::issue, 1.0}, {Resource::l2, 0.4}};
  StrategyBrief brief, memory;
  brief.zone = Zone::compute;
  memory.zone = Zone::memory;
  CHECK(relief(brief, raster, verdict) == Approx(0.4));
  // What a technique relieves first of all it relieves most.
  verdict.bottlenecks = {{Resource::dram, 0.4}};
  CHECK(relief(brief, raster, verdict) < 0.4);
  CHECK(relief(brief, raster, verdict) > 0.2);
  verdict.bottlenecks = {{Resource::fp_pipe, 1.0}};
  CHECK(relief(memory, raster, verdict) == 0);
  verdict.bottlenecks.clear();
  CHECK(relief(memory, raster, verdict) > relief(brief, raster, verdict));
  memory.roofline = false;
  CHECK(relief(memory, raster, verdict) == 0);
  brief.effects = {{"raster", 1.0, 2}, {"split_k", 1.0, 200}};
  CHECK(learnt_gain(brief, "raster") < learnt_gain(brief, "split_k"));
  CHECK(learnt_gain(brief, "unroll") == 0);
}

TEST_CASE("a brief without a space is a usage error", "[strategist]") {
  for (const bool rules : {true, false}) {
    const auto proposed = (rules ? rule_strategist() : random_strategist())->propose({}, Rng(1));
    REQUIRE_FALSE(proposed);
    CHECK(proposed.error().code == ErrorCode::usage);
  }
}
