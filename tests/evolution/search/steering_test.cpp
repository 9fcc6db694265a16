// Parts of a search switched off: what is off neither speaks to the strategist nor breeds.
#include <cupilot/search.hpp>

#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "backend/replayed/landscape.hpp"
#include "catch.hpp"
#include "evolution/journal/records.hpp"
#include "strategy/build_space.hpp"

using namespace cupilot;

namespace {

// Passes briefs on to the built-in strategist and keeps what they said.
class Listener final : public Strategist {
 public:
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    kinds.insert(brief.kind);
    for (const Individual& parent : brief.parents) verdicts += parent.verdict.bottlenecks.size();
    zones.insert(brief.zone);
    remembered += brief.remembered.size();
    forecasts += brief.forecast ? 1 : 0;
    for (const StrategyBrief::Effect& effect : brief.effects)
      told_effect = told_effect || effect.count == 77;
    return own_->propose(brief, rng);
  }
  std::set<BreedKind> kinds;
  std::set<Zone> zones;
  std::size_t verdicts = 0, remembered = 0, forecasts = 0;
  bool told_effect = false;

 private:
  std::unique_ptr<Strategist> own_ = rule_strategist();
};

struct World {
  Landscape landscape;
  std::unique_ptr<Space> space;
};

World small_world() {
  LandscapeSpec spec;
  spec.variables = 6;
  spec.values = 3;
  auto landscape = Landscape::make(spec);
  REQUIRE(landscape);
  SpaceModel model;
  model.techniques = landscape->techniques();
  auto space = build_space(std::move(model));
  REQUIRE(space);
  return {std::move(*landscape), std::move(*space)};
}

Listener heard(const SearchFeatures& steering) {
  const World world = small_world();
  SearchOptions options;
  options.max_evaluations = 40;
  options.initial = 10;
  options.lookahead = 1;
  options.offspring_per_slot = 3;
  options.steering = steering;
  Knowledge knowledge;
  knowledge.remembered = {sample(*world.space, Rng(3))};
  knowledge.effects = {{"v1", 0.5, 77}};
  knowledge.forecast = [](const Strategy&) { return std::optional(Prediction{5, 1}); };
  Listener listener;
  Search search(options, *world.space, listener, Zone::memory, 640, knowledge);
  while (true) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    const auto* proposals = std::get_if<std::vector<Proposal>>(&*asked);
    if (proposals == nullptr) return listener;
    Score score;
    score.accepted = score.evaluated = true;
    score.time_us = 10 + static_cast<double>(proposals->front().id % 7);
    score.verdict.bottlenecks = {{Resource::dram, 0.9}};
    search.tell(proposals->front().id, score);
  }
}

}  // namespace

TEST_CASE("a search with all its parts tells the strategist of each") {
  const Listener all = heard({});
  CHECK(all.kinds.count(BreedKind::cross) == 1);
  CHECK(all.zones == std::set{Zone::memory});
  CHECK(all.verdicts > 0);
  CHECK(all.remembered > 0);
  CHECK(all.forecasts > 0);
  CHECK(all.told_effect);
}

TEST_CASE("what is switched off neither breeds nor reaches the strategist") {
  SearchFeatures steering;
  steering.roofline = steering.pool = steering.crossover = steering.model = false;
  const Listener none = heard(steering);
  CHECK(none.kinds.count(BreedKind::cross) == 0);
  CHECK(none.zones == std::set{Zone::middle});
  CHECK(none.verdicts == 0);
  CHECK(none.remembered == 0);
  CHECK(none.forecasts == 0);
  CHECK_FALSE(none.told_effect);
}

namespace {

// Mean of log2(time) over the first slots of a search, none of which may see a result.
double first_slots(const CostModel& forecast, const Space& space,
                   const std::function<double(const Strategy&)>& time_us) {
  double sum = 0;
  constexpr int slots = 12, searches = 4;
  const double optimum_us = LandscapeSpec{}.best_us;
  for (std::uint64_t seed = 1; seed <= searches; ++seed) {
    SearchOptions options;
    options.seed = seed;
    options.lookahead = slots;
    Knowledge knowledge;
    knowledge.forecast = forecast;
    const auto strategist = rule_strategist();
    Search search(options, space, *strategist, Zone::middle, 640, knowledge);
    auto asked = search.ask(slots);
    REQUIRE(asked);
    const auto& proposals = std::get<std::vector<Proposal>>(*asked);
    REQUIRE(proposals.size() == slots);
    for (const Proposal& proposal : proposals)
      sum += std::log2(time_us(proposal.strategy) / optimum_us);
  }
  return sum / (slots * searches);
}

}  // namespace

TEST_CASE("forecasts choose what is tried before there is a result, and leave some to chance") {
  const World world = small_world();
  const auto time_us = [&](const Strategy& strategy) {
    Constants constants;
    for (const Use& use : strategy.uses) {
      constants[use.technique] = 1;
      for (const auto& [name, value] : use.values) constants[use.technique + "." + name] = value;
    }
    return world.landscape.time_us(world.landscape.point_of(constants));
  };
  const double blind = first_slots({}, *world.space, time_us);
  const CostModel truth = [&](const Strategy& s) {
    return std::optional(Prediction{std::log2(time_us(s)), 0.1});
  };
  const double sighted = first_slots(truth, *world.space, time_us);
  CHECK(sighted < 0.6 * blind);
  CHECK(sighted > 0);
}

namespace {

// Three cores with a parameter each; forecasts say that "near" is slower than "best" by an octave,
// and "far" by three. Asks for `slots` one after the other, of which the first six see no result;
// each kernel takes `us`. Returns the cores that were proposed.
std::set<std::string> cores_met(std::uint64_t seed, int slots, double us) {
  SpaceModel model;
  for (const char* name : {"far", "near", "best"}) {
    Technique row;
    row.name = name;
    row.group = "core";
    row.parameters = {{"size", {1, 2, 3, 4, 5, 6, 7, 8}, {}, 1}};
    row.parameters.push_back(row.parameters[0]);
    row.parameters[1].name = "depth";
    model.techniques.push_back(row);
  }
  const auto space = build_space(std::move(model));
  REQUIRE(space);
  Knowledge knowledge;
  knowledge.forecast = [](const Strategy& strategy) {
    const std::string& core = strategy.uses.at(0).technique;
    return std::optional(Prediction{core == "best" ? 5.0 : core == "near" ? 6.0 : 8.0, 0.1});
  };
  SearchOptions options;
  options.seed = seed;
  options.lookahead = options.initial = 6;
  const auto strategist = rule_strategist();
  Search search(options, **space, *strategist, Zone::middle, 640, knowledge);
  std::set<std::string> cores;
  std::deque<Proposal> open;
  for (int slot = 0; slot < slots; ++slot) {
    if (open.size() == 6) {
      Score score;
      score.accepted = score.evaluated = true;
      score.time_us = us;
      REQUIRE(search.tell(open.front().id, score) == TellStatus::accepted);
      open.pop_front();
    }
    auto asked = search.ask(1);
    REQUIRE(asked);
    open.push_back(std::get<std::vector<Proposal>>(*asked).at(0));
    cores.insert(open.back().strategy.uses.at(0).technique);
  }
  return cores;
}

// Of twenty searches, those that met each core.
std::map<std::string, int> searches_by_core(int slots, double us) {
  std::map<std::string, int> searches;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const std::string& core : cores_met(seed, slots, us)) ++searches[core];
  return searches;
}

}  // namespace

TEST_CASE("a core that forecasts put behind is tried early, one far behind is not") {
  auto searches = searches_by_core(6, 32);
  CHECK(searches["best"] == 20);
  CHECK(searches["near"] == 20);
  CHECK(searches["far"] < 10);  // chance draws it
}

TEST_CASE("a core that forecasts put far behind is tried once the others turn out as slow") {
  CHECK(searches_by_core(12, 32)["far"] < 15);  // chance draws it
  CHECK(searches_by_core(12, 100)["far"] == 20);
}

TEST_CASE("a journal's header keeps every switch, and one without them has all parts") {
  HeaderRecord header;
  header.task_json = "{}";
  header.search.steering = {
      .roofline = false, .pool = true, .crossover = false, .surrogate = true, .model = false};
  header.search.steering.code_crossover = true;
  const std::string text = to_json(header);
  const auto read = header_from(text);
  REQUIRE(read);
  CHECK(read->search.steering == header.search.steering);
  std::string old = text;
  const auto at = old.find("\"steering\":{");
  REQUIRE(at != std::string::npos);
  old.replace(at, old.find('}', at) + 1 - at, "\"other\":{}");
  const auto older = header_from(old);
  REQUIRE(older);
  CHECK(older->search.steering == SearchFeatures{});
}

namespace {

// A model by its word: expensive, and asking several questions at once.
class Asker final : public Strategist {
 public:
  bool is_expensive(std::int64_t, int generation) const override { return generation > 0; }
  int questions_at_once(int) const override { return 3; }
  bool proposes_all() const override { return all; }
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    briefs.push_back(brief);
    return own_->propose(brief, rng);
  }
  bool all = false;
  std::vector<StrategyBrief> briefs;

 private:
  std::unique_ptr<Strategist> own_ = rule_strategist();
};

std::set<std::string> ids_of(const std::vector<Individual>& parents) {
  std::set<std::string> ids;
  for (const Individual& parent : parents) ids.insert(strategy_id(parent.strategy));
  return ids;
}

// Asks for all and answers at once, each slot another time.
void run_through(Search& search) {
  while (true) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    const auto* proposals = std::get_if<std::vector<Proposal>>(&*asked);
    if (proposals == nullptr) return;
    Score score;
    score.accepted = score.evaluated = true;
    score.time_us = 20 + static_cast<double>(proposals->front().id * 37 % 41);
    search.tell(proposals->front().id, score);
  }
}

}  // namespace

TEST_CASE("an expensive slot is told other parents for questions beside its own") {
  const World world = small_world();
  SearchOptions options;
  options.max_evaluations = 60;
  options.initial = 10;
  options.lookahead = 6;
  options.tune_share = 0;
  Asker asker;
  Search search(options, *world.space, asker, Zone::memory, 640);
  run_through(search);
  std::size_t most = 0;
  for (const StrategyBrief& brief : asker.briefs) {
    std::set<std::set<std::string>> met = {ids_of(brief.parents)};
    for (const StrategyBrief::Beside& other : brief.beside) {
      CHECK((other.parents.size() == 2) == (other.kind == BreedKind::cross));
      CHECK(met.insert(ids_of(other.parents)).second);
    }
    most = std::max(most, brief.beside.size());
    // What is asked for and never tried costs for nothing.
    if (brief.generation == 0 || brief.slot >= 58) CHECK(brief.beside.empty());
  }
  CHECK(most == 2);
}

TEST_CASE("a model is not asked to cross a pair that has children") {
  const World world = small_world();
  SearchOptions options;
  options.max_evaluations = 80;
  options.initial = 6;
  options.population = 4;  // few pairs, so that many are drawn again
  options.lookahead = 3;
  options.tune_share = 0;
  Asker asker;
  Search search(options, *world.space, asker, Zone::memory, 640);
  std::set<std::set<std::string>> crossed;
  std::size_t seen = 0, crosses = 0;
  while (true) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    const auto* proposals = std::get_if<std::vector<Proposal>>(&*asked);
    if (proposals == nullptr) break;
    for (; seen < asker.briefs.size(); ++seen) {
      const StrategyBrief& brief = asker.briefs[seen];
      if (brief.kind != BreedKind::cross || brief.generation == 0) continue;
      CHECK(crossed.count(ids_of(brief.parents)) == 0);
      ++crosses;
    }
    const Proposal& proposal = proposals->front();
    const auto& parents = proposal.strategy.parents;
    if (parents.size() == 2) crossed.insert({parents.begin(), parents.end()});
    Score score;
    score.accepted = score.evaluated = true;
    score.time_us = 20 + static_cast<double>(proposal.id * 37 % 41);
    search.tell(proposal.id, score);
  }
  CHECK(crosses >= 5);
}
