#include <cupilot/rng.hpp>

#include <array>
#include <cmath>
#include <set>

#include "catch.hpp"

using cupilot::Rng;

TEST_CASE("equal keys give equal streams, and every part of the key matters", "[rng]") {
  CHECK(Rng::of(1, "mutate", 2, 3).next() == Rng::of(1, "mutate", 2, 3).next());
  const std::set<std::uint64_t> firsts = {
      Rng::of(1, "mutate", 2, 3).next(), Rng::of(2, "mutate", 2, 3).next(),
      Rng::of(1, "cross", 2, 3).next(),  Rng::of(1, "mutate", 3, 3).next(),
      Rng::of(1, "mutate", 2, 4).next(), Rng::of(1, "mutate", 3, 2).next()};
  CHECK(firsts.size() == 6);
}

TEST_CASE("a fork does not depend on how much its parent was used", "[rng]") {
  Rng parent = Rng::of(7, "sample");
  const std::uint64_t before = parent.fork(1).next();
  (void)parent.next();
  CHECK(parent.fork(1).next() == before);
}

TEST_CASE("below is uniform over its range", "[rng]") {
  Rng rng = Rng::of(3, "below");
  std::array<int, 7> seen{};
  constexpr int draws = 70000;
  for (int i = 0; i < draws; ++i) ++seen[static_cast<std::size_t>(rng.below(7))];
  double chi_squared = 0;
  for (const int count : seen) chi_squared += std::pow(count - draws / 7.0, 2) / (draws / 7.0);
  CHECK(chi_squared < 22.5);  // 99.9 % point at 6 degrees of freedom
}

TEST_CASE("unit stays in [0, 1)", "[rng]") {
  Rng rng = Rng::of(3, "unit");
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = rng.unit();
    REQUIRE((value >= 0.0 && value < 1.0));
    sum += value;
  }
  CHECK(std::abs(sum / 10000 - 0.5) < 0.015);
}
