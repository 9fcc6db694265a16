#include "backend/counter_metrics.hpp"

#include <set>

#include "catch.hpp"

namespace cupilot {
namespace {

// The sanitizers' runtimes end a program that opens what CUPTI's host library opens (RTLD_DEEPBIND).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool may_open = false;
#else
constexpr bool may_open = true;
#endif

TEST_CASE("Every metric of a chip's table is one that CUPTI knows for it", "[counters]") {
  for (const char* chip : {"GH100"}) {
    std::set<std::string> metrics;
    for (const MetricTerm& term : counter_metrics(chip)) metrics.insert(term.metric);
    CHECK(metrics.size() > 20);
    if (!may_open) continue;
    const auto unknown = unknown_metrics(chip, {metrics.begin(), metrics.end()});
    if (!unknown) {
      WARN(unknown.error().message);  // no CUPTI here
      continue;
    }
    for (const std::string& metric : *unknown) FAIL_CHECK(chip << " has no " << metric);
    const auto wrong = unknown_metrics(chip, {"dram__bytes_read.sum", "no__such_metric.sum", "dram__bytes_write.sum"});
    REQUIRE(wrong);
    REQUIRE(wrong->size() == 1);
    CHECK(wrong->front() == "no__such_metric.sum");
  }
  CHECK(counter_metrics("GX999").empty());
}

}  // namespace
}  // namespace cupilot
