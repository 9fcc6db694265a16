#include "evolution/report/thinned.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE(
    "a short series is shown whole, of a long one what was marked and an even part of the rest") {
  Thinned<int> few(100), many(100);
  for (int i = 0; i < 100; ++i) few.add(i, false);
  CHECK(few.taken().size() == 100);
  for (int i = 0; i < 100000; ++i) many.add(i, i % 9973 == 1);
  const std::vector<int> taken = many.taken();
  CHECK(many.seen() == 100000);
  CHECK(taken.size() <= 100);
  CHECK(taken.size() > 40);
  for (int i = 1; i < 100000; i += 9973) CHECK(std::count(taken.begin(), taken.end(), i) == 1);
  CHECK(std::is_sorted(taken.begin(), taken.end()));
  CHECK(taken.back() > 90000);
}
