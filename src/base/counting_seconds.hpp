// Sums the phases in which hardware counters were read.
#pragma once

#include "base/phases.hpp"

namespace cupilot {

// Leaves out waiting for a device: who waits loses nothing by the counters.
inline double counting_seconds(const PhaseSeconds& phases) {
  double sum = 0;
  for (const auto& [path, seconds] : phases) {
    const bool counting = ("/" + path + "/").find("/counters/") != std::string::npos;
    if (counting && !is_waiting(path)) sum += seconds;
  }
  return sum;
}

}  // namespace cupilot
