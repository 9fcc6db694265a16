// Pressures joined to techniques.
#include "agents/propose/relief.hpp"

#include "catch.hpp"
#include "strategy/edit.hpp"
#include "strategy/toy_space.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

struct Bound {
  std::unique_ptr<Space> space = toy_space();
  StrategyBrief brief;
  Individual kernel;
  Bound() {
    brief.space = space.get();
    kernel.strategy = space->complete(Strategy{{{"simt_core", {}, "", {}}}, "", {}, ""})->strategy;
    kernel.verdict.bottlenecks = {
        {Resource::l2, 0.8}, {Resource::latency, 0.3}, {Resource::launch, 0.02}};
  }
};

bool targets(const Relief& relief, Resource resource) {
  const auto& all = relief.technique->targets;
  return std::find(all.begin(), all.end(), resource) != all.end();
}

}  // namespace

TEST_CASE("what relieves the greatest pressure comes first, and nothing that is in use") {
  const Bound bound;
  const auto all = reliefs(bound.brief, bound.kernel, 100);
  REQUIRE(all.size() >= 2);
  CHECK(targets(all[0], Resource::l2));
  CHECK(all[0].resource == Resource::l2);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(find_use(bound.kernel.strategy, all[i].technique->name) == nullptr);
    CHECK(targets(all[i], all[i].resource));
    CHECK(all[i].resource != Resource::launch);
    if (i > 0) CHECK(all[i].share <= all[i - 1].share);
  }
  CHECK(reliefs(bound.brief, bound.kernel, 1).size() == 1);
}

TEST_CASE("a forecast of the changed strategy goes before shares of time") {
  Bound bound;
  const auto by_share = reliefs(bound.brief, bound.kernel, 100);
  const std::string last = by_share.back().technique->name;
  bound.brief.forecast = [&](const Strategy& s) {
    return std::optional(Prediction{find_use(s, last) != nullptr ? 4.0 : 5.0, 1});
  };
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

TEST_CASE("what warps wait for most decides what is said to relieve") {
  const Task task = *gemm_task({.m = 512, .n = 512, .k = 512});
  struct Row {
    const char* what;
    std::vector<std::pair<Stall, double>> spent;
    Resource first;
  };
  const Row rows[] = {
      {"nothing counted", {}, Resource::latency},
      {"loads",
       {{Stall::long_scoreboard, 80}, {Stall::short_scoreboard, 5}, {Stall::selected, 15}},
       Resource::latency},
      {"shared memory",
       {{Stall::mio_throttle, 50}, {Stall::short_scoreboard, 35}, {Stall::selected, 15}},
       Resource::shared},
      {"more cycles than there were",
       {{Stall::short_scoreboard, 180}, {Stall::selected, 15}},
       Resource::latency},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Measurement measurement;
    measurement.provenance = Provenance::measured;
    measurement.time_us = 200;
    measurement.counts.source = CounterSource::counters;
    measurement.counts[Counter::issue_slots] = {1e6, 1e6, 1e6, CountHow::exact};
    WarpCycles warps;
    warps.resident = row.spent.empty() ? 0 : 100;
    for (const auto& [stall, cycles] : row.spent) warps[stall] = cycles;
    Bound bound;
    bound.kernel.verdict = *judge(task, task.time_shapes[0], *chip("h200"), measurement, warps);
    const auto all = reliefs(bound.brief, bound.kernel, 100);
    REQUIRE_FALSE(all.empty());
    CHECK(all[0].resource == row.first);
    CHECK(all[0].technique->targets.front() == row.first);
  }
}
