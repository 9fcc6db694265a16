// What a search does with hardware counters: how much time they may take, and what becomes of it
// when they are refused.
#include <thread>

#include "base/counting_seconds.hpp"
#include "catch.hpp"
#include "evolution/evaluate/counting.hpp"
#include "evolution/hooked.hpp"

using namespace cupilot;
using namespace cupilot::testing;

TEST_CASE("counting keeps to its share of the time once its price is known") {
  Counting budget(real_host(), Provenance::measured, 0);
  CHECK(budget.grant(0.1, 0.1));  // nobody knows what it costs
  budget.settle(0.5, true);
  CHECK_FALSE(budget.grant(9.9, 0.1));
  CHECK(budget.grant(10.1, 0.1));
  CHECK_FALSE(budget.grant(10.1, 0.1));  // the other is still under way
  budget.settle(0.4, true);
  CHECK_FALSE(budget.grant(13.9, 0.1));  // the dearest tells
  CHECK(budget.grant(14.1, 0.1));
  budget.settle(0.1, true);
  budget.settle(1, false);  // waited for whoever counts
  CHECK_FALSE(budget.grant(24.9, 0.1));
  CHECK_FALSE(budget.grant(27.4, 0.1, 1.5));
  CHECK(budget.grant(27.6, 0.1, 1.5));
}

TEST_CASE("waiting for a device is no counting") {
  const PhaseSeconds phases = {{"search/counters/counter/passes", 1},
                               {"search/counters", 2},
                               {"search/counters/wait for the device", 4},
                               {"search/timing/counters", 8},
                               {"search/virtual counts", 16},
                               {"confirm/timing", 32}};
  CHECK(counting_seconds(phases) == 11);
}

namespace {

LaunchCounts read_by_the_chip(CountDepth depth) {
  LaunchCounts counts;
  counts.work.source = CounterSource::counters;
  counts.work[Counter::dram_read_bytes] = {1e6, 1e6, 1e6, CountHow::exact};
  if (depth == CountDepth::all) counts.warps.resident = 100, counts.warps[Stall::barrier] = 60;
  return counts;
}

// A device whose times are taken for measured: they take as long as they say.
void measures(Hooked& device) {
  device.own().provenance = Provenance::measured;
  device.on_measure = [](std::span<const Subject>, std::vector<SubjectReport>& reports) {
    double us = 0;
    for (const SubjectReport& report : reports) {
      if (!report.measurement) continue;
      for (const double sample : report.measurement->samples_us) us += sample;
    }
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
  };
}

}  // namespace

TEST_CASE("with profiling refused the same search works on the next rung, and says so",
          "[threads]") {
  const Error refused{ErrorCode::no_device,
                      "hardware counters: taking the counters: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
                      ""};
  for (const bool allowed : {true, false}) {
    INFO(allowed);
    const TempDir dir;
    Hooked device(fake_device(write_landscape(dir)));
    measures(device);
    std::map<CountDepth, int> asked;
    device.on_count = [&](CountDepth depth) -> Attempt<std::vector<LaunchCounts>> {
      ++asked[depth];
      // To be refused takes its time as well: more than counting may take.
      if (!allowed) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      if (!allowed) return refused;
      return std::vector<LaunchCounts>{read_by_the_chip(depth)};
    };
    const auto report = evolve(Task{}, device, small_run(dir / "run", 40));
    REQUIRE_OK(report);
    REQUIRE(report->best);
    CHECK(report->evaluations == 40);
    CHECK(asked[CountDepth::few] >= 1);
    CHECK(asked[CountDepth::few] <=
          (allowed ? 4 : 1));  // one candidate in ten; who is refused asks once
    CHECK(asked[CountDepth::all] == (allowed ? 1 : 0));
    const Verdict& verdict = std::get<Accepted>(report->best->candidate.outcome).verdict;
    CHECK(verdict.source == (allowed ? CounterSource::counters : CounterSource::analytic));
    const std::string why = "Counted without the chip's own counters: " + refused.message + ".";
    CHECK((verdict.digest.back() == why) == !allowed);
    const std::string page = read_all(dir / "run/report.html");
    CHECK((page.find("Warps waited 60% of their cycles for the rest of their block (barrier)") !=
           std::string::npos) == allowed);
    CHECK((page.find("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES") != std::string::npos) == !allowed);
    CHECK(report->counting_seconds > 0);
    CHECK(report->controller_cpu_seconds > 0);
    const auto kept = read_run(dir / "run");
    REQUIRE_OK(kept);
    const Verdict& read_back = std::get<Accepted>(kept->report.best->candidate.outcome).verdict;
    REQUIRE(read_back.stalls.size() == (allowed ? 1 : 0));
    if (allowed) CHECK(read_back.stalls[0].share == Approx(0.6));
    CHECK(kept->report.counting_seconds == Approx(report->counting_seconds));
    CHECK(kept->report.controller_cpu_seconds ==
          Approx(report->controller_cpu_seconds).epsilon(0.8));  // reading the run back is in one
  }
}
