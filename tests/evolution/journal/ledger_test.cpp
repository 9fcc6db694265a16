// A ledger of seconds: the dearest of each phase, and the fastest candidate's own.
#include "evolution/journal/ledger.hpp"

#include "catch.hpp"

namespace cupilot {
namespace {

ResultRecord settled(std::int64_t slot, double time_us, PhaseSeconds phases, double interpreted) {
  ResultRecord record;
  record.slot = slot;
  record.phases = std::move(phases);
  record.cpu.as_device = interpreted;
  if (time_us > 0) {
    Accepted accepted;
    accepted.measurement.time_us = time_us;
    record.candidate.outcome = accepted;
  } else {
    record.candidate.outcome = Rejected{Stage::compile, "compile.error", "no y"};
  }
  return record;
}

void check(const Ledger& ledger) {
  CHECK(ledger.settled() == 4);
  CHECK(ledger.of_fastest("search/compile") == 0.5);
  CHECK(ledger.of_fastest("search/timing") == 0);
  CHECK(ledger.dearest("search/compile") == 9);
  CHECK(ledger.dearest("search/proof") == 3);
  CHECK(ledger.most_interpreted() == 2.5);
}

TEST_CASE("a ledger tells the fastest candidate's seconds from the dearest") {
  Ledger ledger(8);
  for (int i = 0; i < 4; ++i) ledger.propose({});
  CHECK(ledger.of_fastest("search/compile") == 0);
  ledger.settle(settled(0, 20, {{"search/compile", 2}, {"search/proof/screen", 3}}, 1));
  ledger.settle(settled(2, 10, {{"search/compile", 0.5}}, 2.5));
  ledger.settle(settled(1, 0, {{"search/compile", 9}}, 0));
  ledger.settle(settled(3, 15, {{"search/compile", 0.1}}, 0.5));
  check(ledger);
  Ledger again(8);
  REQUIRE(again.restore(ledger.saved().joined()));
  check(again);
}

}  // namespace
}  // namespace cupilot
