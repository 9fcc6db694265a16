// A time with its provenance, samples and spread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/trial.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// measured: by cupilot's runner on a device. modelled: by a time model. reported: by a host
// program. Never ranked together.
enum class Provenance { measured, modelled, reported };
std::string_view name_of(Provenance provenance);

struct Measurement {
  Provenance provenance = Provenance::modelled;
  double time_us = 0;                // median of samples
  double spread_us = 0;              // median absolute deviation
  std::vector<double> samples_us{};  // one per round
  std::string cache = "cold";        // L2 state before each sample: "cold" or "warm"
  double interval_low_us = 0,
         interval_high_us =
             0;           // modelled: from the counts' intervals; measured: 95 % of the median
  std::string binding{};  // modelled: the binding term ("dram", "fp32 pipe", "latency" …)
  Counts counts{};
  // Measured times only. host_us: one launch by the controller's own clock, back to back and warm;
  // 0: not taken. resolution_us: time of an empty launch between the same events; too_short: the
  // time cannot be told from that and is never ranked. conditions: clocks, throttling and other
  // processes on the card during timing, one sentence each.
  double host_us = 0, resolution_us = 0;
  bool too_short = false;
  std::vector<std::string> conditions{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
