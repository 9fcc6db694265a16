// Scores the predictions of a run's kernels.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/agents.hpp>

#include "evolution/journal/run_state.hpp"

namespace cupilot {

class ForecastScore {
 public:
  // Scores the run with this header.
  explicit ForecastScore(const RunState& state);
  void take(const SearchEvent& event);
  // The rank correlation and the median error of forecasts against the times of the run's kernels;
  // "" where too few were forecast.
  std::string sentence() const;

 private:
  CostModel forecaster_;    // empty: of a device that spans its own space
  std::size_t learnt_ = 0;  // outcomes of earlier runs that it knows
  std::vector<double> expected_, taken_;
};

// Rank correlation (Spearman) of two lists of equal length, -1 to 1; 0 where either is constant.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace cupilot
