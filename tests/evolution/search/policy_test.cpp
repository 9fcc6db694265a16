// The seam inside a search: a policy is told what it may know, in slot order, and nothing else.
#include <cupilot/parts/policy.hpp>

#include <algorithm>
#include <deque>
#include <set>

#include "agents/write/values_writer.hpp"
#include "backend/replayed/landscape.hpp"
#include "catch.hpp"
#include "evolution/support.hpp"
#include "strategy/build_space.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

struct World {
  Landscape landscape;
  std::unique_ptr<Space> space;
  SearchOptions options{};

  static World make() {
    auto spec = landscape_from_json(rough_landscape, "rough");
    REQUIRE(spec);
    auto landscape = Landscape::make(*spec);
    REQUIRE(landscape);
    auto space = build_space({landscape->techniques(), {}});
    REQUIRE(space);
    World world{std::move(*landscape), std::move(*space)};
    world.options.max_evaluations = 60;
    world.options.initial = 8;
    world.options.children = 4;
    world.options.lookahead = 5;
    return world;
  }

  Score score(const Strategy& strategy) const {
    const auto point = landscape.point_of(values_of(*space, strategy));
    Score score;
    score.evaluated = true;
    score.accepted = !landscape.rejected(point);
    if (score.accepted) score.time_us = landscape.time_us(point);
    if (!score.accepted) score.rejection = "verify.wrong";
    for (const int state : point) score.kernel_hash += std::to_string(state);
    return score;
  }
};

// Notes what it hears, and draws as the random policy does.
class Listener final : public Policy {
 public:
  struct Heard {
    std::vector<std::int64_t> accepted, observed, seen_by;  // seen_by: observed before each slot
    std::vector<bool> duplicates;
    std::vector<double> best_us;
    std::vector<std::int64_t> spent;
  };
  Listener(const Space& space, Heard& heard) : inner_(random_policy(space)), heard_(heard) {}

  Result<std::optional<Proposal>> propose(const PolicyView& view, Rng rng) override {
    heard_.seen_by.push_back(static_cast<std::int64_t>(heard_.observed.size()));
    heard_.best_us.push_back(view.best_us);
    heard_.spent.push_back(view.spent);
    return inner_->propose(view, rng);
  }
  void accept(const Proposal& proposal) override { heard_.accepted.push_back(proposal.slot); }
  void observe(const SlotOutcome& outcome) override {
    heard_.observed.push_back(outcome.proposal.slot);
    heard_.duplicates.push_back(outcome.duplicate);
  }
  std::string save() const override { return "heard"; }
  bool load(std::string_view saved) override { return saved == "heard"; }

 private:
  std::unique_ptr<Policy> inner_;
  Heard& heard_;
};

// Asks for `width` at a time and answers in an order drawn from `order`, until `stop` slots.
void run_on(Search& search, const World& world, std::deque<Proposal>& open, int width,
            std::uint64_t order, std::int64_t stop = 1000) {
  Rng rng(order);
  while (search.proposed() < stop) {
    auto asked = search.ask(width);
    REQUIRE_OK(asked);
    if (std::holds_alternative<Finished>(*asked)) return;
    if (auto* fresh = std::get_if<std::vector<Proposal>>(&*asked))
      open.insert(open.end(), fresh->begin(), fresh->end());
    REQUIRE_FALSE(open.empty());
    const auto pick = rng.below(static_cast<std::int64_t>(open.size()));
    const Proposal proposal = open[static_cast<std::size_t>(pick)];
    open.erase(open.begin() + pick);
    CHECK(search.tell(proposal.id, world.score(proposal.strategy)) == TellStatus::accepted);
  }
}

Listener::Heard heard(const World& world, int width, std::uint64_t order) {
  Listener::Heard all;
  Search search(world.options, 640, std::make_unique<Listener>(*world.space, all));
  std::deque<Proposal> open;
  run_on(search, world, open, width, order);
  return all;
}

std::vector<std::int64_t> ascending(std::size_t count) {
  std::vector<std::int64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}

}  // namespace

TEST_CASE("a policy hears of slots in their order, and of outcomes the lookahead behind") {
  const World world = World::make();
  const Listener::Heard first = heard(world, 1, 1);
  for (const int width : {1, 3, 20}) {
    for (std::uint64_t order = 1; order <= 3; ++order) {
      INFO("width " << width << " order " << order);
      const Listener::Heard all = heard(world, width, order);
      REQUIRE(all.accepted.size() >= 60);
      CHECK(all.accepted == ascending(all.accepted.size()));
      CHECK(all.observed == ascending(all.observed.size()));
      for (std::size_t slot = 0; slot < all.accepted.size(); ++slot)
        CHECK(all.seen_by[slot] == std::max<std::int64_t>(0, static_cast<std::int64_t>(slot) - 4));
      CHECK(all.duplicates == first.duplicates);
      CHECK(all.best_us == first.best_us);
      CHECK(all.spent == first.spent);
    }
  }
  CHECK(std::count(first.duplicates.begin(), first.duplicates.end(), true) > 0);
  CHECK(first.best_us.front() == 0);
  CHECK(first.best_us.back() > 0);
}

TEST_CASE("a policy of the host's is saved and restored with its search") {
  const World world = World::make();
  Listener::Heard before, after;
  Search search(world.options, 640, std::make_unique<Listener>(*world.space, before));
  std::deque<Proposal> open;
  run_on(search, world, open, 2, 1, 30);
  const std::string saved = search.saved();
  Search restored(world.options, 640, std::make_unique<Listener>(*world.space, after));
  REQUIRE(restored.restore(saved));
  std::deque<Proposal> same = open;
  run_on(search, world, open, 2, 7);
  run_on(restored, world, same, 2, 8);
  CHECK(restored.fingerprint() == search.fingerprint());
  // Bytes of another policy are refused.
  const auto rules = rule_strategist();
  Search other(world.options, *world.space, *rules, Zone::middle, 640);
  CHECK_FALSE(other.restore(saved));
}

TEST_CASE("the random policy repeats nothing and searches a small space to its end") {
  World world = World::make();
  world.options.policy = SearchPolicy::random;
  world.options.max_evaluations = 0;
  const auto rules = rule_strategist();
  std::string fingerprint;
  for (const int width : {1, 4}) {
    Search search(world.options, *world.space, *rules, Zone::middle, 640);
    std::set<std::string> seen;
    std::deque<Proposal> open;
    std::string reason;
    while (reason.empty()) {
      auto asked = search.ask(width);
      REQUIRE_OK(asked);
      if (const auto* finished = std::get_if<Finished>(&*asked)) reason = finished->reason;
      if (auto* fresh = std::get_if<std::vector<Proposal>>(&*asked)) {
        for (Proposal& proposal : *fresh) {
          CHECK(world.space->feasible(proposal.strategy));
          CHECK(seen.insert(strategy_id(proposal.strategy)).second);
          open.push_back(std::move(proposal));
        }
      }
      if (open.empty()) continue;
      search.tell(open.back().id, world.score(open.back().strategy));
      open.pop_back();
    }
    CHECK(reason.find("exhausted") != std::string::npos);
    CHECK(static_cast<double>(seen.size()) == world.space->size());
    CHECK(search.archive().empty());
    CHECK(search.best());
    if (fingerprint.empty()) fingerprint = search.fingerprint();
    CHECK(search.fingerprint() == fingerprint);
  }
}

TEST_CASE("a run by the random policy is resumed as one, and its journal says so", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "whole", 40);
  options.search.policy = SearchPolicy::random;
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  options.run_dir = dir / "parts";
  options.search.max_evaluations = 15;
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  EvolveOptions more;
  more.raise_evaluations = 40;
  REQUIRE_OK(resume(dir / "parts", *device, more));
  CHECK(essence(dir / "parts") == essence(dir / "whole"));
  options = small_run(dir / "bred", 40);
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  CHECK(essence(dir / "bred") != essence(dir / "whole"));
}

TEST_CASE("evolve takes the host's policy", "[threads]") {
  const TempDir dir;
  const auto device = fake_device(write_landscape(dir));
  EvolveOptions options = small_run(dir / "random", 30);
  options.search.policy = SearchPolicy::random;
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  Listener::Heard all;
  options = small_run(dir / "own", 30);
  options.policy = [&](const SearchOptions&, const Space& space) {
    return std::make_unique<Listener>(space, all);
  };
  REQUIRE_OK(evolve(landscape_task(), *device, options));
  CHECK(all.accepted.size() >= 30);
  CHECK(essence(dir / "own") == essence(dir / "random"));
  options = small_run("", 4);
  options.policy = [](const SearchOptions&, const Space&) { return std::unique_ptr<Policy>(); };
  const auto none = evolve(landscape_task(), *device, options);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
}
