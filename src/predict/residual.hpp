// What an analytic model gets wrong, learnt from outcomes: a Gaussian process over knobs and
// resources (Rasmussen and Williams 2006), its scales chosen by marginal likelihood.
#pragma once

#include <memory>
#include <vector>

#include "predict/join.hpp"

namespace cupilot {

struct ResidualPoint {
  ForecastTerms terms{};
  double error = 0;  // log2(outcome / expected)
};

struct ResidualGuess {
  double mean = 0, sigma = 1;  // of log2(outcome / expected)
};

// Of one template. Immutable once made; any thread.
class ForecastResidual {
 public:
  // Of many points a spread of at most `residual_points` is kept. At least one.
  explicit ForecastResidual(std::vector<ResidualPoint> points);
  ~ForecastResidual();
  ForecastResidual(ForecastResidual&&) noexcept;
  ResidualGuess guess(const ForecastTerms& terms) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::size_t residual_points = 900;

}  // namespace cupilot
