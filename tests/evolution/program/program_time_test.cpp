// What parts may use of a program's seconds.
#include "evolution/program/program_time.hpp"

#include "catch.hpp"
#include "support/sim_host.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// A part whose search met kernels that took so long each.
EvolveReport part_of(int kernels, double compile, double proof, double timing, double references) {
  EvolveReport report;
  report.evaluations = kernels;
  report.phase_seconds = {{"search/compile", kernels * compile},
                          {"search/compile/wait for a compiler", 100},
                          {"search/proof/judge", kernels * proof},
                          {"search/proof/wait for the device", 100},
                          {"search/proof/judge/references", references},
                          {"search/timing", kernels * timing},
                          {"baselines", 100}};
  return report;
}

}  // namespace

TEST_CASE("parts leave a program's own seconds alone") {
  SimHost host(Rng(1));
  EvolveOptions options;
  options.max_seconds = 60;
  options.seconds_before = 4;
  ProgramTime time(options, host, false);
  const double begin = host.monotonic_seconds();
  CHECK(time.left() == Approx(56));
  // Of three parts, each a share, with three shares for others.
  CHECK(time.of_slot(3, 3, 6) == Approx(56.0 / 6));
  CHECK(time.of_slot(3, 3, 100) == Approx(1));
  CHECK(time.has_time_for_library(1));  // nothing was measured
  host.spend(10);
  time.note(0, part_of(9, 7, 7, 7, 7));
  time.note(0, part_of(2, 1, 0.5, 0.25, 0));  // the same part, as it is now
  time.note(1, part_of(4, 3, 0.5, 0.25, 2));
  time.note(2, part_of(0, 9, 9, 9, 9));  // nothing was met
  // Its three parts' kernels take 2.75 s each, their contents 1 s, and again, as a finalist, 8.58
  // s.
  const double program = 3 * (2 + 0.5 + 0.25 + 1 + 1.1 * (2 + 5.5 * 0.5 + 3 * 0.25 + 2.3));
  CHECK(time.of_slot(3, 2, 5) == Approx((46 - program) / 2));
  // A part that has no kernel yet has the seconds of one, which is proved as an elite.
  constexpr double kernel = 2 + 4 * 0.5 + 0.25;
  CHECK(time.of_slot(3, 2, 20) == Approx(kernel));
  CHECK(time.has_time_for_library(2 * kernel));
  CHECK_FALSE(time.has_time_for_library(2 * kernel - 0.1));
  CHECK(time.left_for_parts(3) == Approx(46 - program));
  // A further slot meets a kernel or is none.
  host.spend(10);
  CHECK(time.left_for_parts(3) == 0);
  CHECK(time.of_slot(3, 1, 4) == Approx(kernel));
  SimHost late(Rng(1));
  options.max_seconds = 7;
  ProgramTime little(options, late, false);
  little.note(0, part_of(1, 9, 9, 9, 9));
  CHECK(little.of_slot(3, 1, 4) == Approx(3));  // no more than is left
  // With a program its search's end counts.
  time.search_end()->store(begin + 25);
  CHECK(time.left_for_parts(3) == 0);
  time.has_program(true);
  CHECK(time.left_for_parts(3) == Approx(5));
  time.search_end()->store(begin + 24);
  CHECK(time.left_for_parts(3) == 0);  // one that took the lead would be proved for 1.5 s more
  time.search_end()->store(begin + 50);
  CHECK(time.left_for_parts(3) == Approx(36 - 24));  // 0.6 of the seconds are theirs
}

TEST_CASE("a program that is the last leaves its evaluation's seconds to parts") {
  SimHost host(Rng(1));
  EvolveOptions options;
  options.max_seconds = 60;
  ProgramTime time(options, host, true);
  CHECK_FALSE(time.has_one_left(2));
  time.note(0, part_of(2, 1, 1, 1, 1));
  // Two parts: evaluated in 8 s, confirmed in 26 s; a kernel that takes the lead needs 6 s.
  const double evaluated = 2 * 4, confirmed = 1.1 * 2 * (1 + 5.5 + 3 + 2.3), kernel = 1 + 4 + 1;
  CHECK(time.left_for_parts(2) == Approx(60 - confirmed));
  host.spend(60 - confirmed - kernel - 1);
  CHECK(time.left_for_parts(2) == Approx(std::min(kernel + 1, time.left() - 24)));
  CHECK(time.has_one_left(2) == (time.left() < 2 * evaluated + confirmed + kernel));
  CHECK(time.has_one_left(2));
  time.has_program(true);
  CHECK_FALSE(time.has_one_left(2));
  options.max_seconds = 300;
  ProgramTime longer(options, host, true);
  longer.note(0, part_of(2, 1, 1, 1, 1));
  CHECK_FALSE(longer.has_one_left(2));
  options.max_seconds = 0;
  CHECK_FALSE(ProgramTime(options, host, true).has_one_left(2));
}
