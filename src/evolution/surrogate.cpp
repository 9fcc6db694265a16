#include "evolution/surrogate.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

namespace cupilot {
namespace {

struct Hyper {
  double additive = 0.5;  // share of the additive part
  double length = 2;      // of the product part, in sites
  double noise = 0.02;    // variance of a measurement, of unit prior variance
};

constexpr std::size_t fewest_points = 8;
constexpr double trusted_points = 4, steepest = 1.2;   // of the prior's slope
constexpr double usual_sites = 5, usual_noise = 0.02;  // before the first outcomes: length as a part of all sites
constexpr double refused_target = -2;                  // of a refused strategy while none was accepted

}  // namespace

StrategyEncoder::StrategyEncoder(const Space& space) {
  std::set<std::string> with_knobs;
  for (const Knob& knob : space.knobs()) {
    techniques_.push_back(knob.technique);
    parameters_.push_back(knob.parameter);
    values_.push_back(knob.domain);
    fallbacks_.push_back(knob.fallback);
    domains_.push_back(static_cast<int>(knob.domain.size()));
    with_knobs.insert(knob.technique);
  }
  for (const Technique& technique : space.techniques()) {
    if (with_knobs.count(technique.name) != 0) continue;
    techniques_.push_back(technique.name);
    parameters_.emplace_back();
    values_.emplace_back();
    fallbacks_.push_back(0);
    domains_.push_back(0);
  }
  for (std::size_t site = 0; site < techniques_.size(); ++site) sites_of_[techniques_[site]].push_back(site);
}

StrategyCode StrategyEncoder::encode(const Strategy& strategy) const {
  StrategyCode code(domains_.size(), 0);
  for (const Use& use : strategy.uses) {
    const auto sites = sites_of_.find(use.technique);
    if (sites == sites_of_.end()) continue;
    for (const std::size_t site : sites->second) {
      code[site] = 1;
      if (parameters_[site].empty()) continue;
      const auto found = use.values.find(parameters_[site]);
      const std::int64_t value = found != use.values.end() ? found->second : fallbacks_[site];
      const auto& domain = values_[site];
      const auto place = std::find(domain.begin(), domain.end(), value);
      code[site] = static_cast<std::int16_t>(1 + (place - domain.begin()));
    }
  }
  return code;
}

struct Surrogate::State {
  StrategyEncoder encoder;
  struct Point {
    std::int64_t slot = 0;
    StrategyCode code;
    bool settled = false;
    bool refused = false;
    double fitness = 0;
    double prior = 0;
  };
  std::vector<Point> points;  // rows of the factor, in order
  Hyper hyper;
  Eigen::MatrixXd factor;  // lower, its first `rows` rows are valid
  Eigen::Index rows = 0;
  Eigen::VectorXd weights;
  double slope = 1;              // of the prior
  double centre = 0, scale = 1;  // of what the prior leaves
  bool ready = false;

  double expected_within = 0;

  State(const Space& space, double within) : encoder(space), scale(within > 0 ? within : 1), expected_within(within) {
    if (within > 0) hyper = {0.5, std::max(1.0, static_cast<double>(encoder.sites()) / usual_sites), usual_noise};
  }

  // How much two values of one site differ: 0 equal, 1 when only one uses the technique, between 0.6 and 1 by rank.
  double site_distance(std::size_t site, std::int16_t a, std::int16_t b) const {
    if (a == b) return 0;
    if (a == 0 || b == 0) return 1;
    const int domain = encoder.domains()[site];
    return domain < 3 ? 1 : 0.6 + 0.4 * std::abs(a - b) / (domain - 1);
  }
  double distance(const StrategyCode& a, const StrategyCode& b) const {
    double sum = 0;
    for (std::size_t site = 0; site < a.size(); ++site) sum += site_distance(site, a[site], b[site]);
    return sum;
  }
  double shared(double apart) const { return 1 - apart / std::max<double>(1, static_cast<double>(encoder.sites())); }
  double likeness(double apart, const Hyper& h) const {
    return h.additive * shared(apart) + (1 - h.additive) * std::exp(-apart / h.length);
  }

  // Least squares through what was measured, with the weight of a few points that the prior is right.
  void choose_slope(const std::vector<const Point*>& known) {
    const auto count = static_cast<double>(known.size());
    double x = 0, y = 0, xx = 0, xy = 0;
    for (const Point* point : known) {
      x += point->prior / count;
      y += point->fitness / count;
    }
    for (const Point* point : known) {
      xx += (point->prior - x) * (point->prior - x);
      xy += (point->prior - x) * (point->fitness - y);
    }
    const double trust = trusted_points * xx / count;
    slope = xx > 1e-9 ? std::clamp((xy + trust) / (xx + trust), 0.0, steepest) : 1;
  }

  void standardise() {
    std::vector<const Point*> known;
    for (const Point& point : points) {
      if (point.settled && !point.refused) known.push_back(&point);
    }
    accepted = known.size();
    ready = accepted >= fewest_points || expected_within > 0;
    if (known.empty()) return;
    choose_slope(known);
    // What was expected counts as a few outcomes that were as expected.
    const double believed = expected_within > 0 ? trusted_points : 0;
    const double count = static_cast<double>(known.size()) + believed;
    double sum = 0, squares = believed * expected_within * expected_within;
    worst = known.front()->fitness;
    for (const Point* point : known) {
      const double left = point->fitness - slope * point->prior;
      worst = std::min(worst, point->fitness);
      sum += left;
      squares += left * left;
    }
    centre = sum / count;
    scale = std::sqrt(std::max(1e-6, squares / count - centre * centre));
  }
  double worst = 0;  // of what was measured: a refused strategy counts as no better
  std::size_t accepted = 0;
  double target(const Point& point) const {
    if (point.refused && accepted == 0) return refused_target;
    return ((point.refused ? worst : point.fitness) - slope * point.prior - centre) / scale;
  }

  std::array<double, 3> lengths_tried() const {
    const double sites = static_cast<double>(encoder.sites());
    return {std::max(0.3, sites / 12), std::max(0.3, sites / 5), std::max(0.3, sites / 2)};
  }

  // Marginal likelihood over a small grid.
  void choose_hyper() {
    std::vector<const Point*> known;
    for (const Point& point : points) {
      if (point.settled) known.push_back(&point);
    }
    const auto count = static_cast<Eigen::Index>(known.size());
    Eigen::MatrixXd apart(count, count);
    Eigen::VectorXd y(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const Point& point = *known[static_cast<std::size_t>(i)];
      y[i] = target(point);
      for (Eigen::Index j = 0; j <= i; ++j) {
        apart(i, j) = apart(j, i) = distance(point.code, known[static_cast<std::size_t>(j)]->code);
      }
    }
    const Eigen::MatrixXd linear = apart.unaryExpr([&](double d) { return shared(d); });
    const auto lengths = lengths_tried();
    std::vector<Eigen::MatrixXd> near;  // for each length
    for (const double length : lengths) near.push_back(apart.unaryExpr([&](double d) { return std::exp(-d / length); }));
    double best = -1e300;
    for (const double additive : {0.1, 0.5, 0.9, 0.99}) {
      for (std::size_t l = 0; l < lengths.size(); ++l) {
        const Eigen::MatrixXd clean = additive * linear + (1 - additive) * near[l];
        for (const double noise : {0.002, 0.03}) {
          Eigen::MatrixXd k = clean;
          k.diagonal().array() += noise;
          const Eigen::LLT<Eigen::MatrixXd> llt(k);
          if (llt.info() != Eigen::Success) continue;
          const double log_determinant = 2 * llt.matrixLLT().diagonal().array().log().sum();
          const double likelihood = -0.5 * y.dot(llt.solve(y)) - 0.5 * log_determinant;
          if (likelihood <= best) continue;
          best = likelihood;
          hyper = {additive, lengths[l], noise};
        }
      }
    }
  }

  void append_row(const Point& point) {
    if (factor.rows() <= rows) {
      const Eigen::Index room = std::max<Eigen::Index>(64, 2 * factor.rows());
      factor.conservativeResizeLike(Eigen::MatrixXd::Zero(room, room));
    }
    Eigen::VectorXd column(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      column[i] = likeness(distance(points[static_cast<std::size_t>(i)].code, point.code), hyper);
    }
    const auto lower = factor.topLeftCorner(rows, rows).triangularView<Eigen::Lower>();
    if (rows > 0) lower.solveInPlace(column);
    factor.row(rows).head(rows) = column.transpose();
    factor(rows, rows) = std::sqrt(std::max(1e-9, 1 + hyper.noise - column.squaredNorm()));
    ++rows;
  }
};

Surrogate::Surrogate(const Space& space, double expected_within) : state_(std::make_unique<State>(space, expected_within)) {}
Surrogate::~Surrogate() = default;
Surrogate::Surrogate(Surrogate&&) noexcept = default;

void Surrogate::add_pending(std::int64_t slot, const Strategy& strategy, double prior) {
  State::Point point{slot, state_->encoder.encode(strategy), false, false, 0, prior};
  state_->append_row(point);
  state_->points.push_back(std::move(point));
}

void Surrogate::settle(std::int64_t slot, std::optional<double> fitness) {
  for (auto point = state_->points.rbegin(); point != state_->points.rend(); ++point) {
    if (point->slot != slot) continue;
    point->settled = true;
    point->refused = !fitness.has_value();
    point->fitness = fitness.value_or(0);
    return;
  }
}

void Surrogate::fit(const std::vector<Observation>& points) {
  State& s = *state_;
  s.points.clear();
  for (const Observation& point : points) {
    s.points.push_back({point.slot, s.encoder.encode(*point.strategy), point.settled, point.settled && !point.fitness,
                        point.fitness.value_or(0), point.prior});
  }
  s.standardise();
  if (s.accepted >= fewest_points) s.choose_hyper();
  s.rows = 0;
  for (const State::Point& point : s.points) s.append_row(point);
}

void Surrogate::update() {
  State& s = *state_;
  s.standardise();
  if (!s.ready) return;
  // A pending point believes what the settled rows before it predict, so that it says nothing of its own: forward
  // substitution with a zero residual.
  Eigen::VectorXd z(s.rows);
  for (Eigen::Index i = 0; i < s.rows; ++i) {
    const State::Point& point = s.points[static_cast<std::size_t>(i)];
    const double believed = s.factor.row(i).head(i).dot(z.head(i));
    z[i] = point.settled ? (s.target(point) - believed) / s.factor(i, i) : 0;
  }
  s.weights = s.factor.topLeftCorner(s.rows, s.rows).triangularView<Eigen::Lower>().transpose().solve(z);
}

bool Surrogate::ready() const { return state_->ready; }

Prediction Surrogate::predict(const Strategy& strategy, double prior) const {
  const State& s = *state_;
  if (!s.ready) return {s.slope * prior, 1};
  const StrategyCode code = s.encoder.encode(strategy);
  Eigen::VectorXd k(s.rows);
  for (Eigen::Index i = 0; i < s.rows; ++i) {
    k[i] = s.likeness(s.distance(s.points[static_cast<std::size_t>(i)].code, code), s.hyper);
  }
  const double mean = k.dot(s.weights);
  s.factor.topLeftCorner(s.rows, s.rows).triangularView<Eigen::Lower>().solveInPlace(k);
  const double variance = std::max(1e-9, 1 - k.squaredNorm());
  return {s.slope * prior + s.centre + s.scale * mean, s.scale * std::sqrt(variance)};
}

}  // namespace cupilot
