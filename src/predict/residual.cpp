#include "predict/residual.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace cupilot {
namespace {

constexpr std::size_t points_for_scales = 300;  // points of the marginal likelihood
constexpr double deviation_of_median = 1.48;    // a normal standard deviation, in median deviations
constexpr double usual_most = 2.5;              // deviations at which an error is cut off
constexpr double least_usual = 0.05;

using Scales = ResidualScales;

// Every one of `most` of them, evenly spread.
template <class Value>
std::vector<Value> spread(std::vector<Value> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<Value> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(std::move(all[i * all.size() / most]));
  return kept;
}

// Equal constants are alike; unlike ones differ, neighbours in the domain a little less.
double knob_distance(const ForecastTerms& a, const ForecastTerms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.knobs.size(); ++i) {
    const double apart = std::abs(a.knobs[i] - b.knobs[i]);
    sum += apart == 0 ? 0 : 0.5 + 0.5 * apart;
  }
  return sum;
}

// Squared octaves.
double resource_distance(const ForecastTerms& a, const ForecastTerms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    const double apart = a.resources[i] - b.resources[i];
    sum += apart * apart;
  }
  return sum;
}

double likeness(double knobs, double resources, double sites, const Scales& s) {
  const double near = std::exp(-resources / (2 * s.resource * s.resource));
  return s.additive * (1 - knobs / sites) * 0.5 + s.additive * near * 0.5 +
         (1 - s.additive) * std::exp(-knobs / s.knob) * near;
}

struct Distances {
  Eigen::MatrixXd knobs, resources;
};

Distances distances(const std::vector<ResidualPoint>& points) {
  const auto n = static_cast<Eigen::Index>(points.size());
  Distances all{Eigen::MatrixXd(n, n), Eigen::MatrixXd(n, n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const ForecastTerms &a = points[static_cast<std::size_t>(i)].terms,
                          &b = points[static_cast<std::size_t>(j)].terms;
      all.knobs(i, j) = all.knobs(j, i) = knob_distance(a, b);
      all.resources(i, j) = all.resources(j, i) = resource_distance(a, b);
    }
  }
  return all;
}

Eigen::MatrixXd covariance(const Distances& apart, double sites, const Scales& scales) {
  Eigen::MatrixXd k = apart.knobs.binaryExpr(apart.resources, [&](double knobs, double resources) {
    return likeness(knobs, resources, sites, scales);
  });
  k.diagonal().array() += scales.noise;
  return k;
}

double log_likelihood(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& y) {
  const Eigen::LLT<Eigen::MatrixXd> llt(covariance);
  if (llt.info() != Eigen::Success) return -1e300;
  return -0.5 * y.dot(llt.solve(y)) - llt.matrixLLT().diagonal().array().log().sum();
}

}  // namespace

struct Residual::State {
  std::vector<ResidualPoint> points;
  double centre = 0, spread = 1, sites = 1;
  Scales scales;
  Eigen::MatrixXd factor;  // lower; above the diagonal stands nothing
  Eigen::VectorXd weights;

  // A factorisation reads and leaves what is on and below the diagonal.
  void settle() {
    const auto n = static_cast<Eigen::Index>(points.size());
    factor.resize(n, n);
    for (Eigen::Index j = 0; j < n; ++j) {
      const ForecastTerms& a = points[static_cast<std::size_t>(j)].terms;
      for (Eigen::Index i = j; i < n; ++i) {
        const ForecastTerms& b = points[static_cast<std::size_t>(i)].terms;
        factor(i, j) = likeness(knob_distance(a, b), resource_distance(a, b), sites, scales);
      }
      factor(j, j) += scales.noise;
    }
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(factor);
    weights = llt.solve(targets(points));
  }

  Eigen::VectorXd targets(const std::vector<ResidualPoint>& of) const {
    Eigen::VectorXd y(static_cast<Eigen::Index>(of.size()));
    for (std::size_t i = 0; i < of.size(); ++i)
      y[static_cast<Eigen::Index>(i)] = (of[i].error - centre) / spread;
    return y;
  }

  // A kernel that the arithmetic does not understand at all says little of its neighbours: its
  // error counts as the largest usual one (winsorised; Huber 1981).
  void pull_in() {
    const double middle = median([&](const ResidualPoint& p) { return p.error; });
    const double usual =
        median([&](const ResidualPoint& p) { return std::abs(p.error - middle); }) *
        deviation_of_median;
    const double most = usual_most * std::max(usual, least_usual);
    for (ResidualPoint& point : points)
      point.error = std::clamp(point.error, middle - most, middle + most);
  }
  template <class Of>
  double median(Of of) const {
    std::vector<double> values;
    for (const ResidualPoint& point : points) values.push_back(of(point));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  void standardise() {
    double sum = 0, squares = 0;
    for (const ResidualPoint& point : points) {
      sum += point.error;
      squares += point.error * point.error;
    }
    const double count = static_cast<double>(points.size());
    centre = sum / count;
    spread = std::sqrt(std::max(1e-4, squares / count - centre * centre));
    sites = std::max<double>(1, static_cast<double>(points.front().terms.knobs.size()));
  }

  void choose_scales() {
    const std::vector<ResidualPoint> few = cupilot::spread(points, points_for_scales);
    const Distances apart = distances(few);
    const Eigen::VectorXd y = targets(few);
    double best = -1e300;
    for (const double additive : {0.2, 0.5, 0.8}) {
      for (const double knob : {sites / 6, sites / 3, sites}) {
        for (const double resource : {1.0, 2.0, 4.0}) {
          for (const double noise : {0.02, 0.1}) {
            const Scales tried{additive, knob, resource, noise};
            const double likelihood = log_likelihood(covariance(apart, sites, tried), y);
            if (likelihood <= best) continue;
            best = likelihood;
            scales = tried;
          }
        }
      }
    }
  }
};

Residual::Residual(std::vector<ResidualPoint> points) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.points = spread(std::move(points), residual_points);
  s.pull_in();
  s.standardise();
  s.choose_scales();
  s.settle();
}
Residual::Residual(std::vector<ResidualPoint> points, const ResidualScales& scales,
                   double deviation)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.points = std::move(points);
  s.spread = deviation;
  s.scales = scales;
  s.settle();
}
Residual::~Residual() = default;
Residual::Residual(Residual&&) noexcept = default;

ResidualGuess Residual::guess(const ForecastTerms& terms) const {
  const State& s = *state_;
  Eigen::VectorXd k(static_cast<Eigen::Index>(s.points.size()));
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const ForecastTerms& other = s.points[i].terms;
    k[static_cast<Eigen::Index>(i)] =
        likeness(knob_distance(terms, other), resource_distance(terms, other), s.sites, s.scales);
  }
  const double mean = k.dot(s.weights);
  s.factor.triangularView<Eigen::Lower>().solveInPlace(k);
  const double variance = std::max(0.0, 1 - k.squaredNorm()) + s.scales.noise;
  return {s.centre + s.spread * mean, s.spread * std::sqrt(variance)};
}

}  // namespace cupilot
