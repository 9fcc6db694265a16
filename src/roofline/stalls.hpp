// Explains by the warps' stalls the time that no resource explains.
#pragma once

#include <string>
#include <vector>

#include <cupilot/verdict.hpp>

namespace cupilot {

// Says what would shorten the longest waiting; "" where nothing is known to. Useful only
// where waiting costs time: warps that feed others, or are fed faster than they work, wait at no
// cost.
std::string stall_advice(const std::vector<StallShare>& stalls);

// Deals the share of latency out to the resources that the waiting points to, in proportion to it;
// what points to none stays. Nothing is dealt without stalls, or where warps hardly waited. What
// was dealt.
double deal_waiting(std::vector<Bottleneck>& bottlenecks, const std::vector<StallShare>& stalls);

}  // namespace cupilot
