#include "backend/wire/counter_metrics.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "support/sanitized.hpp"

namespace cupilot {
namespace {

// The sanitizers' runtimes end a program that opens what CUPTI's host library opens
// (RTLD_DEEPBIND).
const bool may_open = !testing::sanitized();

constexpr const char* chips[] = {"GA100", "GA102", "AD102", "AD104",
                                 "GH100", "GB100", "GB202", "GB205"};

TEST_CASE("Every metric of a chip's table is one that CUPTI knows for it", "[counters]") {
  for (const char* chip : chips) {
    INFO(chip);
    const std::vector<std::string> metrics =
        metrics_of(chip, counters_of(CountDepth::all, Precision::bf16));
    CHECK(metrics.size() > 20);
    if (!may_open) continue;
    const auto unknown = unknown_metrics(chip, metrics);
    if (!unknown) {
      WARN(unknown.error().message);  // no CUPTI here
      continue;
    }
    for (const std::string& metric : *unknown) FAIL_CHECK(chip << " has no " << metric);
  }
  CHECK(counter_metrics("GX999").empty());
  CHECK(metrics_of("GX999", ~CounterMask{0}).empty());
}

TEST_CASE("What warps wait for is read of a champion, each reason once, and never of every leader",
          "[counters]") {
  for (const char* chip : chips) {
    INFO(chip);
    const auto terms = stall_metrics(chip);
    const std::size_t lacking = std::string_view(chip) == "GH100"             ? 0
                                : std::string_view(chip).substr(0, 2) == "GB" ? 2
                                                                              : 1;
    CHECK(terms.size() == stall_count - lacking);
    std::set<Stall> reasons;
    for (const StallMetric& term : terms) {
      reasons.insert(term.stall);
      CHECK(term.metric ==
            "smsp__warps_issue_stalled_" + std::string(name_of(term.stall)) + ".sum");
    }
    CHECK(reasons.size() == terms.size());
    const auto all = metrics_of(chip, counters_of(CountDepth::all, Precision::bf16));
    CHECK(std::count(all.begin(), all.end(), resident_metric) == 1);
    CHECK(metrics_of(chip, stalls_bit).size() == terms.size() + 1);
    CHECK((counters_of(CountDepth::few, Precision::bf16) & stalls_bit) == 0);
  }
  CHECK(stall_metrics("GX999").empty());
}

TEST_CASE("CUPTI tells a metric that a chip lacks", "[counters]") {
  if (!may_open) return;
  const auto wrong = unknown_metrics(
      "GH100", {"dram__bytes_read.sum", "no__such_metric.sum", "dram__bytes_write.sum"});
  if (!wrong) {
    WARN(wrong.error().message);
    return;
  }
  REQUIRE(wrong->size() == 1);
  CHECK(wrong->front() == "no__such_metric.sum");
}

TEST_CASE("What is read of every kernel that takes the lead is had in two runs of it",
          "[counters]") {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32_strict, Precision::fp32_emulated, Precision::bf16x3,
        Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8, Precision::integer}) {
    INFO(name_of(precision));
    const CounterMask few = counters_of(CountDepth::few, precision);
    CHECK((few & mask_of(Counter::dram_read_bytes)) != 0);
    CHECK((few & counters_of(CountDepth::all, precision)) == few);
    if (!may_open) continue;
    const auto passes = planned_passes("GH100", metrics_of("GH100", few));
    if (passes) CHECK(*passes <= 2);
    if (!passes) WARN(passes.error().message);
  }
}

}  // namespace
}  // namespace cupilot
