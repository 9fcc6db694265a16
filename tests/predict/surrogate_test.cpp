// What the surrogate predicts before and after outcomes.
#include "predict/surrogate.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "strategy/build_space.hpp"

using namespace cupilot;

namespace {

std::unique_ptr<Space> three_knobs() {
  SpaceModel model;
  for (const char* name : {"a", "b", "c"}) {
    Technique technique;
    technique.name = name;
    technique.parameters = {{"x", {1, 2, 3, 4}, {}, 1}};
    model.techniques.push_back(technique);
  }
  auto space = build_space(std::move(model));
  REQUIRE(space);
  return std::move(*space);
}

Strategy with_a(const Space& space, std::int64_t x) {
  const auto whole =
      space.complete(Strategy{{{"a", {{"x", x}}, "", {}}, {"b", {{"x", 2}}, "", {}}}, "", {}, ""});
  REQUIRE(whole);
  return whole->strategy;
}

}  // namespace

TEST_CASE("a surrogate of expected outcomes predicts them from the first point on") {
  const auto space = three_knobs();
  Surrogate surrogate(*space, 0.5);
  surrogate.fit({});
  surrogate.update();
  CHECK(surrogate.ready());
  const Strategy near = with_a(*space, 2), far = sample(*space, Rng(3));
  const FitnessPrediction before = surrogate.predict(near, 3);
  CHECK(before.mean == Approx(3));
  CHECK(before.deviation == Approx(0.5));

  // What is on its way lowers the doubt about what is like it, and says nothing else.
  surrogate.add_pending(0, with_a(*space, 1), 3);
  surrogate.update();
  const FitnessPrediction beside = surrogate.predict(near, 3);
  CHECK(beside.mean == Approx(3));
  CHECK(beside.deviation < 0.95 * before.deviation);

  // An outcome worse than expected is a warning about what is like it.
  surrogate.settle(0, 2);
  surrogate.update();
  CHECK(surrogate.predict(near, 3).mean < 2.9);
  CHECK(surrogate.predict(near, 3).mean < surrogate.predict(far, 3).mean + 1e-9);
}

TEST_CASE("a refused kernel is a warning before any was accepted") {
  const auto space = three_knobs();
  Surrogate surrogate(*space, 0.5);
  surrogate.fit({});
  surrogate.add_pending(0, with_a(*space, 1), 3);
  surrogate.settle(0, std::nullopt);
  surrogate.update();
  CHECK(surrogate.predict(with_a(*space, 2), 3).mean < 2.9);
}

TEST_CASE("a surrogate that expects nothing waits for outcomes") {
  const auto space = three_knobs();
  Surrogate surrogate(*space);
  surrogate.fit({});
  surrogate.update();
  CHECK_FALSE(surrogate.ready());
}

TEST_CASE(
    "a promise is the prediction's wherever it exceeds the mark, and nothing exceeds it "
    "otherwise") {
  const auto space = three_knobs();
  Surrogate surrogate(*space, 0.5);
  CHECK(surrogate.promise(with_a(*space, 2), 3, -HUGE_VAL, -1e300) ==
        surrogate.predict(with_a(*space, 2), 3).mean);
  surrogate.fit({});
  for (std::int64_t slot = 0; slot < 12; ++slot) {
    surrogate.add_pending(slot, sample(*space, Rng(static_cast<std::uint64_t>(slot))), 1);
    if (slot % 3 != 0) surrogate.settle(slot, static_cast<double>(slot % 5));
  }
  surrogate.update();
  int more = 0;
  for (const double best : {-2.0, 2.0, 4.0}) {
    for (const double mark : {-1e300, -3.0, 0.0, 1e300}) {
      for (std::uint64_t i = 100; i < 140; ++i) {
        const Strategy strategy = sample(*space, Rng(i));
        const FitnessPrediction whole = surrogate.predict(strategy, 1);
        const double told = surrogate.promise(strategy, 1, best, mark);
        // What lies above the best, weighed by how likely it is, summed in small steps.
        double gain = 0;
        const double all = 10 + std::max(0.0, (whole.mean - best) / whole.deviation);
        for (double above = 1.0 / 8192; above < all; above += 1.0 / 4096) {
          const double z = (best + above * whole.deviation - whole.mean) / whole.deviation;
          gain += above * whole.deviation * std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) / 4096;
        }
        if (std::abs(std::log(gain) - mark) < 1e-3) continue;
        CHECK((std::log(gain) > mark ? told == Approx(std::log(gain)).margin(1e-3) : told <= mark));
        more += told > mark ? 1 : 0;
      }
    }
  }
  CHECK(more > 120);
  CHECK(more < 360);
}

TEST_CASE("a surrogate of more points than choose its parameters foresees what none of them was") {
  const auto space = three_knobs();
  const auto value = [](const Strategy& strategy, const char* name) {
    for (const Use& use : strategy.uses) {
      if (use.technique == name) return static_cast<double>(use.values.at("x"));
    }
    return 0.0;
  };
  const auto fitness = [&](const Strategy& s) {
    return value(s, "a") + value(s, "b") + value(s, "c");
  };
  const auto unseen = [&](const Strategy& s) { return value(s, "a") > 2 && value(s, "b") > 2; };
  std::vector<Strategy> all, later;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Strategy one = sample(*space, Rng(i));
    (unseen(one) ? later : all).push_back(std::move(one));
  }
  REQUIRE(all.size() > 300);
  REQUIRE(later.size() > 20);
  std::vector<Observation> points;
  for (std::size_t i = 0; i < all.size(); ++i)
    points.push_back({static_cast<std::int64_t>(i), &all[i], true, fitness(all[i]), 0});
  Surrogate surrogate(*space);
  surrogate.fit(points);
  surrogate.update();
  double worst = 0;
  for (const Strategy& strategy : later)
    worst = std::max(worst, std::abs(surrogate.predict(strategy).mean - fitness(strategy)));
  CHECK(worst < 0.1);
}
