// Names the metrics of each family of chips for the counters of counts.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/warp_cycles.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

// A counter is the sum of factor x metric over its terms.
struct MetricTerm {
  Counter counter = Counter::count_;
  const char* metric = "";
  double factor = 1;
};

// Chips as CUPTI names them share a table: "GA100", "AD102", "GH100". Empty: no table for such a
// chip.
std::span<const MetricTerm> counter_metrics(std::string_view chip);
// A metric is the cycles that all warps together spent so.
struct StallMetric {
  Stall stall = Stall::count_;
  const char* metric = "";
};
std::span<const StallMetric> stall_metrics(std::string_view chip);
// The cycles that all warps together were resident; on every chip.
inline constexpr const char* resident_metric = "smsp__warps_active.sum";
// The duration of a range in nanoseconds, on every chip.
inline constexpr const char* duration_metric = "gpu__time_duration.sum";

// Counters as a mask, bit by their number; the last bit: what warps spent their cycles on.
using CounterMask = std::uint64_t;
inline constexpr CounterMask stalls_bit = CounterMask{1} << 63;
static_assert(counter_count < 63);
constexpr CounterMask mask_of(Counter counter) {
  return CounterMask{1} << static_cast<unsigned>(counter);
}
// Returns the counters that a depth reads of a kernel of a class.
CounterMask counters_of(CountDepth depth, Precision precision);
// The metrics of the chip that these counters are made of, each once.
std::vector<std::string> metrics_of(std::string_view chip, CounterMask counters);

// The names in `metrics` that a chip lacks, and how often a kernel is run for all of them, by
// CUPTI's tables; needs no device. Error: CUPTI cannot be opened, or knows no such chip.
Result<std::vector<std::string>> unknown_metrics(const std::string& chip,
                                                 const std::vector<std::string>& metrics);
Result<std::size_t> planned_passes(const std::string& chip,
                                   const std::vector<std::string>& metrics);

}  // namespace cupilot
