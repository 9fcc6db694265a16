// Which build of the arithmetic tables new programs use.
#pragma once

#include <vector>

namespace cupilot::ptx {

enum class LaneSet { base, avx2, avx512 };

// Those that this machine can run, best last.
std::vector<LaneSet> lane_sets();

// For programs made from now on, in every thread. The best one is used when nothing was preferred;
// tests try them all.
void prefer(LaneSet set);

}  // namespace cupilot::ptx
