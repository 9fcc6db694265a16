// What the counters of counts.hpp are in the performance monitors of each family of chips.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cupilot/counts.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// A counter is the sum of factor x metric over its terms.
struct MetricTerm {
  Counter counter = Counter::count_;
  const char* metric = "";
  double factor = 1;
};

// Chips as CUPTI names them share a table: "GA100", "AD102", "GH100". Empty: no table for such a chip.
std::span<const MetricTerm> counter_metrics(const char* chip);

// The names in `metrics` that a chip lacks, by CUPTI's tables for it; needs no device. Error: CUPTI cannot be opened, or knows no
// such chip.
Result<std::vector<std::string>> unknown_metrics(const std::string& chip, const std::vector<std::string>& metrics);

}  // namespace cupilot
