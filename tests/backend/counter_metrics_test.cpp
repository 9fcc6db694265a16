#include "backend/counter_metrics.hpp"

#include <set>

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("Every metric of a chip's table is one that CUPTI knows for it", "[counters]") {
  for (const char* chip : {"GH100"}) {
    std::set<std::string> metrics;
    for (const MetricTerm& term : counter_metrics(chip)) metrics.insert(term.metric);
    CHECK(metrics.size() > 20);
    const auto unknown = unknown_metrics(chip, {metrics.begin(), metrics.end()});
    if (!unknown) {
      WARN(unknown.error().message);  // no CUPTI here
      continue;
    }
    for (const std::string& metric : *unknown) FAIL_CHECK(chip << " has no " << metric);
    const auto wrong = unknown_metrics(chip, {"dram__bytes_read.sum", "no__such_metric.sum", "dram__bytes_write.sum"});
    REQUIRE(wrong);
    CHECK(*wrong == std::vector<std::string>{"no__such_metric.sum"});
  }
  CHECK(counter_metrics("GX999").empty());
}

}  // namespace
}  // namespace cupilot
