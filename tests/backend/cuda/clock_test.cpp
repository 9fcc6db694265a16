#include "backend/cuda/clock.hpp"

#include <limits>

#include "backend/cuda/spot.hpp"
#include "catch.hpp"

using namespace cupilot;

TEST_CASE("only times that both clocks allow are plausible") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinite = std::numeric_limits<double>::infinity();
  struct Row {
    std::vector<double> events;
    double wall, controller, empty;
    bool good;
  };
  for (const Row& row : {Row{{10, 12}, 30, 100, 4, true}, Row{{2.0, 12}, 30, 100, 4, true},
                         Row{{1.9, 12}, 30, 100, 4, false}, Row{{0, 12}, 30, 100, 0, false},
                         Row{{-1, 12}, 30, 100, 4, false}, Row{{nan, 12}, 30, 100, 4, false},
                         Row{{infinite, 12}, 30, 100, 4, false}, Row{{60, 60}, 30, 100, 4, false},
                         Row{{55, 55}, 90, 100, 4, true}, Row{{10}, 30, 100, 4, false},
                         Row{{10, 12}, nan, 100, 4, false}, Row{{10, 12}, 0, 100, 4, false},
                         Row{{10, 12}, 111, 100, 4, false}, Row{{}, 30, 100, 4, false}}) {
    CAPTURE(row.events, row.wall, row.controller, row.empty);
    CHECK(implausible({row.events, row.wall}, 2, row.controller, row.empty).empty() == row.good);
  }
}

TEST_CASE("an event time far below the controller's clock is not believed") {
  CHECK(undercut(100, 100, 30).empty());
  CHECK(undercut(100, 146, 30).empty());
  CHECK(!undercut(100, 148, 30).empty());
  CHECK(undercut(4, 16, 400).empty());
  CHECK(!undercut(0.001, 50, 400).empty());
  // One launch alone cannot be told from what asking for it takes.
  CHECK(undercut(4.7, 92.5, 1).empty());
  CHECK(!undercut(4.7, 400, 1).empty());
}

TEST_CASE(
    "a doubtful time is seen over more launches at each attempt, unless that would take long") {
  struct Row {
    double event_us;
    int attempt, launches;
  };
  for (const Row& row :
       {Row{100, 0, 30}, Row{100, 1, 60}, Row{100, 4, 400}, Row{1, 0, 400}, Row{0, 4, 400},
        Row{5438, 0, 1}, Row{5438, 1, 2}, Row{5438, 4, 16}, Row{30'000, 2, 3}, Row{2e5, 4, 1}}) {
    CAPTURE(row.event_us, row.attempt);
    CHECK(burst_launches(row.event_us, row.attempt) == row.launches);
  }
}

TEST_CASE("a time that an empty launch would take is too short to rank") {
  const Measurement near = measurement_of({4.1, 4.2, 4.3}, true, 5, 4);
  CHECK(near.too_short);
  REQUIRE(near.conditions.size() == 1);
  CHECK(near.conditions[0].find("too short to rank") != std::string::npos);
  const Measurement far = measurement_of({5, 6, 100}, false, 5, 4);
  CHECK(!far.too_short);
  CHECK(far.time_us == 6);
  CHECK(far.spread_us == 1);
  CHECK(far.host_us == 5);
  CHECK(far.resolution_us == 4);
  CHECK(far.cache == "warm");
}

TEST_CASE("a clock trace that changes while something is timed is said with the time (C9)") {
  CardConditions before{"", 1980, 3201, 40, 150000, 0, {1, 2}},
      after{"", 1800, 3201, 60, 690000, 0x4 | 0x40, {1, 2, 3}};
  const auto said = sentences_of(before, after, 2);
  REQUIRE(said.size() == 3);
  CHECK(said[0] == "SM clock 1980 MHz before, 1800 MHz after; memory 3201 MHz; 60 C; 690 W");
  CHECK(said[1] == "clocks held down by: power cap, hardware thermal");
  CHECK(said[2] == "the card was shared with 1 other processes");
  after.note = "no library";
  CHECK(sentences_of(before, after, 2) ==
        std::vector<std::string>{"clocks and throttling are not known: no library"});
}

TEST_CASE("two computations of a reference value agree but for rounding") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   infinite = std::numeric_limits<double>::infinity();
  CHECK(same_reference(1, 1 + 1e-14, 1));
  CHECK(same_reference(1e-20, 0, 1));  // cancellation: the sum gives the scale
  CHECK(same_reference(nan, nan, 1));
  CHECK(same_reference(infinite, infinite, infinite));
  CHECK(!same_reference(1, 1 + 1e-9, 1));
  CHECK(!same_reference(1, nan, 1));
  CHECK(!same_reference(infinite, 1, infinite));
  CHECK(!same_reference(0, 1e-9, 1));
}
