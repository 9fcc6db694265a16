#include <cupilot/search.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "backend/replayed/landscape.hpp"
#include "catch.hpp"
#include "strategy/build_space.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;

namespace {

// A search on an additive landscape whose answers come in any order.
struct World {
  Landscape landscape;
  std::unique_ptr<Space> space;
  std::unique_ptr<Strategist> strategist = rule_strategist();
  SearchOptions options{};

  static World make() {
    LandscapeSpec spec;
    spec.variables = 6;
    spec.values = 3;
    auto landscape = Landscape::make(spec);
    REQUIRE(landscape);
    SpaceModel model;
    model.techniques = landscape->techniques();
    auto space = build_space(std::move(model));
    REQUIRE(space);
    World world{std::move(*landscape), std::move(*space)};
    world.options.max_evaluations = 40;
    world.options.initial = 10;
    world.options.children = 5;
    world.options.generations_per_epoch = 2;
    world.options.population = 10;
    world.options.lookahead = 5;
    world.options.offspring_per_slot = 3;
    return world;
  }

  Search search() const { return Search(options, *space, *strategist, Zone::middle, 640); }

  Score score(const Strategy& strategy) const {
    Constants constants;
    for (const Use& use : strategy.uses) {
      constants[use.technique] = 1;
      for (const auto& [name, value] : use.values) constants[use.technique + "." + name] = value;
    }
    Score score;
    score.time_us = landscape.time_us(landscape.point_of(constants));
    score.evaluated = true;
    score.accepted = true;
    score.kernel_hash = strategy_id(strategy);
    return score;
  }
};

std::vector<Proposal> proposals(Result<Ask>& asked) {
  REQUIRE(asked);
  if (!std::holds_alternative<std::vector<Proposal>>(*asked)) return {};
  return std::get<std::vector<Proposal>>(*asked);
}

// Asks for `width` at a time and answers in an order drawn from `order`.
std::string run(const World& world, int width, std::uint64_t order) {
  Search search = world.search();
  std::deque<Proposal> open;
  Rng rng(order);
  for (int step = 0; step < 1000; ++step) {
    auto asked = search.ask(width);
    REQUIRE(asked);
    if (std::holds_alternative<Finished>(*asked)) return search.fingerprint();
    for (Proposal& proposal : proposals(asked)) open.push_back(std::move(proposal));
    REQUIRE_FALSE(open.empty());
    const auto pick = rng.below(static_cast<std::int64_t>(open.size()));
    const Proposal proposal = open[static_cast<std::size_t>(pick)];
    open.erase(open.begin() + pick);
    CHECK(search.tell(proposal.id, world.score(proposal.strategy)) == TellStatus::accepted);
  }
  FAIL("the search did not end");
  return "";
}

}  // namespace

TEST_CASE("neither the order of answers nor their number in flight matters") {
  const World world = World::make();
  const std::string first = run(world, 1, 1);
  for (int width : {1, 2, 5, 40}) {
    for (std::uint64_t order = 1; order <= 4; ++order) CHECK(run(world, width, order) == first);
  }
}

TEST_CASE("no strategy is proposed twice, slots ascend, the budget holds") {
  const World world = World::make();
  Search search = world.search();
  std::set<std::string> seen;
  std::uint64_t expected = 1;
  while (true) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    if (std::holds_alternative<Finished>(*asked)) break;
    for (const Proposal& proposal : proposals(asked)) {
      CHECK(proposal.id == expected++);
      CHECK(seen.insert(strategy_id(proposal.strategy)).second);
      CHECK(world.space->feasible(proposal.strategy));
      search.tell(proposal.id, world.score(proposal.strategy));
    }
  }
  CHECK(search.evaluations() == 40);
  CHECK(search.best()->time_us == search.fastest(1).front().time_us);
  CHECK(search.archive().size() <= 10);
}

TEST_CASE("a replayed search is the search") {
  const World world = World::make();
  Search whole = world.search();
  std::vector<std::pair<Proposal, Score>> told;
  const auto step = [&](Search& search) {
    auto asked = search.ask(1);
    auto fresh = proposals(asked);
    if (fresh.empty()) return false;
    const Score score = world.score(fresh.front().strategy);
    search.tell(fresh.front().id, score);
    told.emplace_back(fresh.front(), score);
    return true;
  };
  while (step(whole)) {
  }
  for (const std::size_t kept :
       {std::size_t{0}, std::size_t{3}, std::size_t{17}, std::size_t{33}, told.size()}) {
    Search resumed = world.search();
    for (std::size_t i = 0; i < kept; ++i) {
      REQUIRE(resumed.replay(told[i].first));
      resumed.tell(told[i].first.id, told[i].second);
    }
    while (step(resumed)) {
    }
    INFO("replayed " << kept);
    CHECK(resumed.fingerprint() == whole.fingerprint());
  }
}

// Slots of a search that forgets: it begins to at 288. Fits of hundreds of points take long under a
// sanitizer.
const int long_search = testing::sanitized() ? 340 : 600;

// Bred in windows of five, answered oldest first; `after` is called with the slots so far.
void run_on(Search& search, const World& world, std::deque<Proposal>& open,
            const std::function<void(std::size_t)>& after) {
  for (std::size_t step = 0;; ++step) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    if (std::holds_alternative<Finished>(*asked)) return;
    for (Proposal& proposal : proposals(asked)) open.push_back(std::move(proposal));
    after(step);
    if (open.size() < 3 && !std::holds_alternative<Waiting>(*asked)) continue;
    REQUIRE_FALSE(open.empty());
    search.tell(open.front().id, world.score(open.front().strategy));
    open.pop_front();
  }
}

TEST_CASE("a long search forgets old slots and nothing that matters of them") {
  World world = World::make();
  world.options.max_evaluations = long_search;
  Search search = world.search();
  std::map<std::uint64_t, double> told;
  std::set<std::string> seen;
  std::deque<Proposal> open;
  run_on(search, world, open, [&](std::size_t) {
    if (open.empty() ||
        !told.emplace(open.back().id, world.score(open.back().strategy).time_us).second)
      return;
    CHECK(seen.insert(strategy_id(open.back().strategy)).second);
  });
  REQUIRE(told.size() == long_search);
  CHECK(search.tell(1, {}) == TellStatus::duplicate);
  CHECK(search.forget(1) == TellStatus::duplicate);
  std::vector<std::pair<double, std::uint64_t>> expected;
  for (const auto& [id, us] : told) expected.emplace_back(us, id);
  std::sort(expected.begin(), expected.end());
  const auto fastest = search.fastest(long_search);
  REQUIRE(fastest.size() == long_search);
  for (std::size_t i = 0; i < fastest.size(); ++i) CHECK(fastest[i].id == expected[i].second);
}

TEST_CASE("a search restored from what it saved goes on as if nothing had happened") {
  World world = World::make();
  world.options.max_evaluations = std::min(500, long_search);
  Search whole = world.search();
  std::deque<Proposal> open;
  std::vector<std::pair<std::string, std::deque<Proposal>>> moments;
  run_on(whole, world, open, [&](std::size_t step) {
    if (step > 100 && step % 160 == 11) moments.emplace_back(whole.saved(), open);
  });
  CHECK(whole.saved().empty());
  REQUIRE(moments.size() > 1);
  for (auto& [saved, left] : moments) {
    Search search = world.search();
    REQUIRE(search.restore(saved));
    run_on(search, world, left, [](std::size_t) {});
    INFO("restored with " << left.size() << " open");
    CHECK(search.fingerprint() == whole.fingerprint());
  }
  Search other = world.search();
  CHECK_FALSE(other.restore(moments.front().first.substr(1)));
  CHECK_FALSE(other.restore(""));
}

TEST_CASE(
    "a restored search waits for what was open, and proposes no more than is left beside it") {
  World world = World::make();
  world.options.max_evaluations = 4;
  const auto waits_for = [](Search& search) {
    while (true) {
      auto asked = search.ask(1);
      REQUIRE(asked);
      if (const auto* waiting = std::get_if<Waiting>(&*asked)) return waiting->ids;
      REQUIRE(std::holds_alternative<std::vector<Proposal>>(*asked));
    }
  };
  Search search = world.search(), restored = world.search();
  auto asked = search.ask(3);
  const std::vector<Proposal> three = proposals(asked);
  REQUIRE(three.size() == 3);
  search.tell(1, world.score(three.front().strategy));
  REQUIRE(restored.restore(search.saved()));
  CHECK(waits_for(search) == std::vector<std::uint64_t>{2, 3, 4});
  CHECK(waits_for(restored) == std::vector<std::uint64_t>{2, 3, 4});
}

// Asks a model that falls silent in slot 12.
struct Quiet final : Strategist {
  std::unique_ptr<Strategist> rules = rule_strategist();
  int silent = -1;
  int unavailable_since() const override { return silent; }
  void set_unavailable_since(int generation) override { silent = generation; }
  Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
    if (brief.slot == 12) silent = brief.generation;
    return rules->propose(brief, rng);
  }
};

TEST_CASE("a search that is replayed or restored tells its strategist of a silence") {
  const World world = World::make();
  Quiet first, replayed, restored;
  const auto search_of = [&](Strategist& s) {
    return Search(world.options, *world.space, s, Zone::middle, 640);
  };
  Search search = search_of(first), again = search_of(replayed), third = search_of(restored);
  std::string saved;
  for (std::int64_t slot = 0; slot < 16; ++slot) {
    auto asked = search.ask(1);
    const std::vector<Proposal> one = proposals(asked);
    REQUIRE(one.size() == 1);
    INFO("slot " << slot);
    CHECK(one[0].silent == (slot >= 12 && slot < 15));
    if (slot < 14) {
      REQUIRE(again.replay(one[0]));
      again.tell(one[0].id, world.score(one[0].strategy));
    }
    search.tell(one[0].id, world.score(one[0].strategy));
    if (slot == 13) saved = search.saved();
  }
  CHECK(replayed.silent == 1);
  REQUIRE(third.restore(saved));
  CHECK(restored.silent == 1);
}

TEST_CASE("tell knows late, repeated and unknown answers") {
  const World world = World::make();
  Search search = world.search();
  auto asked = search.ask(2);
  const auto open = proposals(asked);
  REQUIRE(open.size() == 2);
  CHECK(search.tell(99, {}) == TellStatus::unknown_id);
  CHECK(search.tell(0, {}) == TellStatus::unknown_id);
  CHECK(search.tell(open[0].id, {}) == TellStatus::accepted);
  CHECK(search.tell(open[0].id, {}) == TellStatus::duplicate);
  CHECK(search.forget(open[1].id) == TellStatus::accepted);
  CHECK(search.tell(open[1].id, {}) == TellStatus::forgotten);
}

TEST_CASE("a slot beyond the window waits for the oldest answers") {
  const World world = World::make();
  Search search = world.search();
  auto asked = search.ask(100);
  const auto open = proposals(asked);
  CHECK(open.size() == 5);  // the lookahead
  auto waiting = search.ask(1);
  REQUIRE(waiting);
  REQUIRE(std::holds_alternative<Waiting>(*waiting));
  CHECK(std::get<Waiting>(*waiting).ids == std::vector<std::uint64_t>{1});
  // A silent worker stalls nobody once it is forgotten.
  search.forget(1);
  auto more = search.ask(1);
  CHECK(proposals(more).size() == 1);
}

TEST_CASE("equal kernels count once") {
  World world = World::make();
  world.options.max_evaluations = 20;
  Search search = world.search();
  while (true) {
    auto asked = search.ask(1);
    const auto open = proposals(asked);
    if (open.empty()) break;
    Score score = world.score(open.front().strategy);
    score.kernel_hash = "the same";
    search.tell(open.front().id, score);
  }
  CHECK(search.archive().size() == 1);
  CHECK(search.fastest(9).size() == 1);
  CHECK(search.known_owner("the same", 19) == 0);
  CHECK(search.known_owner("the same", 3) == -1);
}

TEST_CASE("a small space is searched to its end") {
  World world = World::make();
  LandscapeSpec spec;
  spec.variables = 2;
  spec.values = 3;
  SpaceModel model;
  auto landscape = Landscape::make(spec);
  REQUIRE(landscape);
  model.techniques = landscape->techniques();
  auto space = build_space(std::move(model));
  REQUIRE(space);
  world.landscape = std::move(*landscape);
  world.space = std::move(*space);
  Search search = world.search();
  std::string reason;
  while (reason.empty()) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    if (const auto* finished = std::get_if<Finished>(&*asked)) reason = finished->reason;
    for (const Proposal& proposal : proposals(asked))
      search.tell(proposal.id, world.score(proposal.strategy));
  }
  CHECK(reason.find("exhausted") != std::string::npos);
  CHECK(search.best()->time_us == Approx(world.landscape.spec().best_us));
}

TEST_CASE("a stop from outside ends it; raised limits reopen it") {
  const World world = World::make();
  Search search = world.search();
  auto asked = search.ask(1);
  search.stop("time spent");
  auto finished = search.ask(1);
  REQUIRE(finished);
  REQUIRE(std::holds_alternative<Finished>(*finished));
  CHECK(std::get<Finished>(*finished).reason == "time spent");
  search.extend(80, 0);
  auto more = search.ask(1);
  CHECK(proposals(more).size() == 1);
}

TEST_CASE("where one strategist proposes all, a first right kernel is had before others begin") {
  struct Alone final : Strategist {
    bool proposes_all() const override { return all; }
    Result<std::optional<Strategy>> propose(const StrategyBrief& brief, Rng rng) override {
      return rules->propose(brief, rng);
    }
    bool all = true;
    std::unique_ptr<Strategist> rules = rule_strategist();
  };
  struct Row {
    bool all, one_first;
    std::size_t begins;  // open slots of a search of which nothing is known
  };
  for (const Row& row : {Row{true, true, 1}, Row{false, true, 5}, Row{true, false, 5}}) {
    World world = World::make();
    auto alone = std::make_unique<Alone>();
    alone->all = row.all;
    world.strategist = std::move(alone);
    world.options.one_first = row.one_first;
    world.options.repairs = 2;
    Search search = world.search();
    auto first = search.ask(100);
    CHECK(proposals(first).size() == row.begins);
    if (row.begins > 1) continue;
    auto waits = search.ask(100);
    REQUIRE(std::holds_alternative<Waiting>(*waits));
    CHECK(std::get<Waiting>(*waits).ids == std::vector<std::uint64_t>{1});
    // A refused one is mended before anything else is begun.
    Score refused;
    refused.evaluated = refused.repairable = true;
    refused.rejection = "compile.error";
    search.tell(1, refused);
    auto repair = search.ask(100);
    const std::vector<Proposal> mended = proposals(repair);
    REQUIRE(mended.size() == 1);
    CHECK(mended[0].kind == BreedKind::repair);
    search.tell(2, world.score(mended[0].strategy));
    Search restored = world.search();
    REQUIRE(restored.restore(search.saved()));
    for (Search* const one : {&search, &restored}) {
      auto rest = one->ask(100);
      CHECK(proposals(rest).size() == 5);
    }
  }
}
