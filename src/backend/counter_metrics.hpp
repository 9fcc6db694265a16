// What the counters of counts.hpp are in the performance monitors of each family of chips.
#pragma once

#include <span>

#include <cupilot/counts.hpp>

namespace cupilot {

// A counter is the sum of factor x metric over its terms.
struct MetricTerm {
  Counter counter = Counter::count_;
  const char* metric = "";
  double factor = 1;
};

// Chips as CUPTI names them share a table: "GA100", "AD102", "GH100". Empty: no table for such a chip.
std::span<const MetricTerm> counter_metrics(const char* chip);

}  // namespace cupilot
