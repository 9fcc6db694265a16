// How well a run's kernels were expected.
#pragma once

#include <string>

#include "evolution/run_state.hpp"

namespace cupilot {

// A sentence with the rank correlation and the median error of forecasts against the times of a run's kernels; "" where too
// few were forecast.
std::string forecast_score(const RunState& state);

// Rank correlation (Spearman) of two lists of equal length, -1 to 1; 0 where either is constant.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cupilot
