// Measures the loss of keeping only some kernels.
#pragma once

#include <vector>

namespace cupilot {

// Mean over weighted shapes of (best time of `kernels` / best time of all) - 1;
// times[kernel][shape], 0: cannot. HUGE_VAL where a shape that some kernel serves is left without
// one; shapes that nobody serves count for nothing.
double regret_of(const std::vector<std::vector<double>>& times, const std::vector<double>& weights,
                 const std::vector<int>& kernels);

}  // namespace cupilot
