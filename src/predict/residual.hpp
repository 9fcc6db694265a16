// Learns the errors of an analytic model from outcomes: a Gaussian process over knobs and resources
// (Rasmussen and Williams 2006).
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
  double mean = 0, sigma = 1;  // log2(outcome / expected)
};

// In units of the error's variance. A site's distance is 0 to 1; `knob` and `resource` are lengths
// in sites and octaves.
struct ResidualScales {
  double additive = 0.5;  // share of the part that adds up over sites
  double knob = 4, resource = 2;
  double noise = 0.05;
};

// Immutable once made; any thread.
class Residual {
 public:
  // Learns one template: chooses scales by marginal likelihood, and expects the points' mean error
  // far from them. Of many points a spread of at most `residual_points` is kept. At least one.
  explicit Residual(std::vector<ResidualPoint> points);
  // Learns kernels of any kind: expects no error far from the points, with this standard deviation.
  Residual(std::vector<ResidualPoint> points, const ResidualScales& scales, double deviation);
  ~Residual();
  Residual(Residual&&) noexcept;
  ResidualGuess guess(const ForecastTerms& terms) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::size_t residual_points = 900;

}  // namespace cupilot
