// Pressures joined to techniques.
#include "agents/relief.hpp"

#include "catch.hpp"
#include "strategy/edit.hpp"
#include "strategy/toy_space.hpp"

using namespace cupilot;

namespace {

struct Bound {
  std::unique_ptr<Space> space = toy_space();
  StrategyBrief brief;
  Individual kernel;
  Bound() {
    brief.space = space.get();
    kernel.strategy = space->complete(Strategy{{{"simt_core", {}, "", {}}}, "", {}, ""})->strategy;
    kernel.verdict.pressures = {{Resource::l2, 0.8}, {Resource::latency, 0.3}, {Resource::launch, 0.02}};
  }
};

bool relieves(const Relief& relief, Resource resource) {
  const auto& all = relief.technique->relieves;
  return std::find(all.begin(), all.end(), resource) != all.end();
}

}  // namespace

TEST_CASE("what relieves the greatest pressure comes first, and nothing that is in use") {
  const Bound bound;
  const auto all = reliefs(bound.brief, bound.kernel, 100);
  REQUIRE(all.size() >= 2);
  CHECK(relieves(all[0], Resource::l2));
  CHECK(all[0].resource == Resource::l2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(find_use(bound.kernel.strategy, all[i].technique->name) == nullptr);
    CHECK(relieves(all[i], all[i].resource));
    CHECK(all[i].resource != Resource::launch);
    if (i > 0) CHECK(all[i].share <= all[i - 1].share);
  }
  CHECK(reliefs(bound.brief, bound.kernel, 1).size() == 1);
}

TEST_CASE("a forecast of the changed strategy goes before shares of time") {
  Bound bound;
  const auto by_share = reliefs(bound.brief, bound.kernel, 100);
  const std::string last = by_share.back().technique->name;
  bound.brief.forecast = [&](const Strategy& s) { return std::optional(Forecast{find_use(s, last) != nullptr ? 4.0 : 5.0, 1}); };
  const auto all = reliefs(bound.brief, bound.kernel, 100);
  CHECK(all[0].technique->name == last);
  REQUIRE(all[0].log2_gain);
  CHECK(*all[0].log2_gain == Approx(1));
}

TEST_CASE("without a verdict or a roofline nothing is said to relieve") {
  Bound bound;
  bound.brief.roofline = false;
  CHECK(reliefs(bound.brief, bound.kernel, 100).empty());
  bound.brief.roofline = true;
  bound.kernel.verdict = {};
  CHECK(reliefs(bound.brief, bound.kernel, 100).empty());
}
