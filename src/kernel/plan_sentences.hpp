// Sentences about a plan that belong to each of its times.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// Says which launches run once before and are not timed; empty: none.
std::vector<std::string> sentences_of(const ResolvedPlan& plan);

}  // namespace cupilot
