#include "predict/surrogate.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "strategy/genome.hpp"

namespace cupilot {
namespace {

// Log of the mean of max(0, x), x normal; far below nothing by its asymptote, since the density
// there is no longer a number.
double log_gain(double mean, double deviation) {
  const double z = mean / deviation,
               density = std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  if (z > -25)
    return std::log(deviation * (density + 0.5 * z * std::erfc(-z / std::numbers::sqrt2)));
  return std::log(deviation * std::numbers::inv_sqrtpi / std::numbers::sqrt2) - 0.5 * z * z -
         2 * std::log(-z) - 3 / (z * z);
}

struct Hyper {
  double additive = 0.5;  // share of the additive part
  double length = 2;      // length of the product part, in sites
  double noise = 0.02;    // variance of a measurement, of unit prior variance
};

constexpr std::size_t fewest_points = 8;
constexpr std::size_t points_for_hyper =
    128;  // that are asked for the hyperparameters: a factorisation costs their cube
constexpr double trusted_points = 4, steepest = 1.2;  // the prior's slope
constexpr double usual_sites = 5,
                 usual_noise = 0.02;   // before the first outcomes: length as a part of all sites
constexpr double refused_target = -2;  // a refused strategy, while none was accepted

// Distance of two values of one site: 0 equal, 1 when only one uses the technique, between 0.6
// and 1 by rank.
double site_distance(int domain, std::int16_t a, std::int16_t b) {
  if (a == b) return 0;
  if (a == 0 || b == 0) return 1;
  return domain < 3 ? 1 : 0.6 + 0.4 * std::abs(a - b) / (domain - 1);
}

// A strategy as one small number a site.
using SiteValues = std::vector<std::int16_t>;

// Strategies side by side, each site's values together.
class CodeTable {
 public:
  explicit CodeTable(const std::vector<int>& domains)
      : domains_(domains), values_(domains.size()) {}
  void add(const SiteValues& code) {
    for (std::size_t site = 0; site < code.size(); ++site) values_[site].push_back(code[site]);
  }
  void clear() {
    for (auto& values : values_) values.clear();
  }
  // Distances of a code to the first `count`.
  Eigen::VectorXd distances(const SiteValues& code, Eigen::Index count) const {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(count);
    std::vector<double> to;  // each value of the site
    for (std::size_t site = 0; site < code.size(); ++site) {
      const int domain = domains_[site];
      const std::int16_t own = code[site], *others = values_[site].data();
      const Eigen::Index values = domain + 2;  // not in use, the domain, what is not in it
      if (values > count) {
        for (Eigen::Index i = 0; i < count; ++i) sum[i] += site_distance(domain, own, others[i]);
        continue;
      }
      to.resize(static_cast<std::size_t>(values));
      for (std::size_t v = 0; v < to.size(); ++v)
        to[v] = site_distance(domain, own, static_cast<std::int16_t>(v));
      for (Eigen::Index i = 0; i < count; ++i) sum[i] += to[static_cast<std::size_t>(others[i])];
    }
    return sum;
  }

 private:
  std::vector<int> domains_;
  std::vector<std::vector<std::int16_t>> values_;  // by site
};

// Reads strategies at the sites of a space: one a knob, one a technique without knobs.
class Sites {
 public:
  explicit Sites(const Space& space)
      : space_(genomes_of(space)), alphabet_(space_->alphabet()), bare_(bare_techniques()) {
    for (const Knob& knob : alphabet_.knobs)
      domains_.push_back(static_cast<int>(knob.domain.size()));
    domains_.resize(domains_.size() + bare_.size(), 0);
  }
  std::size_t count() const { return domains_.size(); }
  // Domain size of a site; 0 for a technique without knobs.
  const std::vector<int>& domains() const { return domains_; }

  // At each site 0 where the technique is not in use, else 1, with the position in the domain.
  SiteValues read(const Strategy& strategy) const {
    const Genome genome = alphabet_.read(strategy);
    SiteValues values(domains_.size(), 0);
    for (const int t : genome.uses) {
      if (t < 0) continue;
      for (const int k : alphabet_.knobs_of[static_cast<std::size_t>(t)]) {
        const auto site = static_cast<std::size_t>(k);
        const Knob& knob = alphabet_.knobs[site];
        const std::int64_t stated = genome.values[site];
        const std::int64_t value = stated == Genome::unset ? knob.fallback : stated;
        const auto place = std::find(knob.domain.begin(), knob.domain.end(), value);
        values[site] = static_cast<std::int16_t>(1 + (place - knob.domain.begin()));
      }
    }
    for (std::size_t i = 0; i < bare_.size(); ++i)
      values[alphabet_.knobs.size() + i] = holds(genome, bare_[i]) ? 1 : 0;
    return values;
  }

 private:
  std::vector<int> bare_techniques() const {
    std::vector<int> bare;
    for (const int t : alphabet_.offered) {
      if (alphabet_.knobs_of[static_cast<std::size_t>(t)].empty()) bare.push_back(t);
    }
    return bare;
  }

  std::shared_ptr<const GenomeSpace> space_;
  const Alphabet& alphabet_;
  std::vector<int> bare_;  // techniques without knobs
  std::vector<int> domains_;
};

}  // namespace

struct Surrogate::State {
  Sites sites;
  struct Point {
    std::int64_t slot = 0;
    SiteValues code;
    bool settled = false;
    bool refused = false;
    double fitness = 0;
    double prior = 0;
  };
  std::vector<Point> points;  // rows of the factor, in order
  CodeTable codes;            // codes of the points
  Hyper hyper;
  Eigen::MatrixXd factor;  // lower, its first `rows` rows are valid
  Eigen::Index rows = 0;
  Eigen::VectorXd weights;
  double slope = 1;              // slope of the prior
  double centre = 0, scale = 1;  // mean and deviation of what the prior leaves
  bool ready = false;

  double expected_within = 0;

  State(const Space& space, double within)
      : sites(space),
        codes(sites.domains()),
        scale(within > 0 ? within : 1),
        expected_within(within) {
    if (within > 0)
      hyper = {0.5, std::max(1.0, static_cast<double>(sites.count()) / usual_sites), usual_noise};
  }

  double shared(double apart) const {
    return 1 - apart / std::max<double>(1, static_cast<double>(sites.count()));
  }
  double likeness(double apart, const Hyper& h) const {
    return h.additive * shared(apart) + (1 - h.additive) * std::exp(-apart / h.length);
  }

  // To each row.
  Eigen::VectorXd likenesses(const SiteValues& code) const {
    return codes.distances(code, rows).unaryExpr([&](double apart) {
      return likeness(apart, hyper);
    });
  }

  double mean(const Eigen::VectorXd& k, double prior) const {
    return slope * prior + centre + scale * k.dot(weights);
  }
  // At most `scale`. Takes the likenesses' place: O(rows^2).
  double deviation(Eigen::VectorXd& k) const {
    factor.topLeftCorner(rows, rows).triangularView<Eigen::Lower>().solveInPlace(k);
    return scale * std::sqrt(std::max(1e-9, 1 - k.squaredNorm()));
  }

  // Least squares through what was measured, with the weight of a few points that the prior is
  // right.
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
    // The expectation counts as a few outcomes that were as expected.
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
  double worst = 0;  // worst measured fitness; a refused strategy counts as no better
  std::size_t accepted = 0;
  double target(const Point& point) const {
    if (point.refused && accepted == 0) return refused_target;
    return ((point.refused ? worst : point.fitness) - slope * point.prior - centre) / scale;
  }

  std::array<double, 3> lengths_tried() const {
    const double count = static_cast<double>(sites.count());
    return {std::max(0.3, count / 12), std::max(0.3, count / 5), std::max(0.3, count / 2)};
  }

  // Distances of pairs of the known, below the diagonal.
  Eigen::MatrixXd distances_among(const std::vector<const Point*>& known) const {
    const auto count = static_cast<Eigen::Index>(known.size());
    CodeTable among(sites.domains());
    for (const Point* point : known) among.add(point->code);
    Eigen::MatrixXd apart = Eigen::MatrixXd::Zero(count, count);
    for (Eigen::Index i = 0; i < count; ++i) {
      apart.row(i).head(i) =
          among.distances(known[static_cast<std::size_t>(i)]->code, i).transpose();
    }
    return apart;
  }

  // Chooses points for the hyperparameters: evenly spread, with the latest.
  static std::vector<const Point*> spread(std::vector<const Point*> all) {
    const std::size_t count = all.size();
    if (count <= points_for_hyper) return all;
    for (std::size_t i = 0; i < points_for_hyper; ++i)
      all[i] = all[(i + 1) * count / points_for_hyper - 1];
    all.resize(points_for_hyper);
    return all;
  }

  // Marginal likelihood over a small grid. A factorisation reads what is on and below the diagonal.
  void choose_hyper() {
    std::vector<const Point*> known;
    for (const Point& point : points) {
      if (point.settled) known.push_back(&point);
    }
    const Eigen::MatrixXd apart = distances_among(known = spread(std::move(known)));
    const Eigen::Index count = apart.rows();
    Eigen::VectorXd y(count);
    for (Eigen::Index i = 0; i < count; ++i) y[i] = target(*known[static_cast<std::size_t>(i)]);
    const auto each = [&](auto value) {
      Eigen::MatrixXd all = Eigen::MatrixXd::Zero(count, count);
      for (Eigen::Index j = 0; j < count; ++j) {
        for (Eigen::Index i = j; i < count; ++i) all(i, j) = value(apart(i, j));
      }
      return all;
    };
    const Eigen::MatrixXd linear = each([&](double d) { return shared(d); });
    double best = -1e300;
    for (const double length : lengths_tried()) {
      const Eigen::MatrixXd near = each([&](double d) { return std::exp(-d / length); });
      for (const double additive : {0.1, 0.5, 0.9, 0.99}) {
        const Eigen::MatrixXd clean = additive * linear + (1 - additive) * near;
        for (const double noise : {0.002, 0.03}) {
          Eigen::MatrixXd k = clean;
          k.diagonal().array() += noise;
          const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(k);
          if (llt.info() != Eigen::Success) continue;
          const double log_determinant = 2 * llt.matrixLLT().diagonal().array().log().sum();
          const double likelihood = -0.5 * y.dot(llt.solve(y)) - 0.5 * log_determinant;
          if (likelihood <= best) continue;
          best = likelihood;
          hyper = {additive, length, noise};
        }
      }
    }
  }

  void append_row(const Point& point) {
    if (factor.rows() <= rows) {
      const Eigen::Index room = std::max<Eigen::Index>(64, 2 * factor.rows());
      factor.conservativeResizeLike(Eigen::MatrixXd::Zero(room, room));
    }
    Eigen::VectorXd column = likenesses(point.code);
    const auto lower = factor.topLeftCorner(rows, rows).triangularView<Eigen::Lower>();
    if (rows > 0) lower.solveInPlace(column);
    factor.row(rows).head(rows) = column.transpose();
    factor(rows, rows) = std::sqrt(std::max(1e-9, 1 + hyper.noise - column.squaredNorm()));
    codes.add(point.code);
    ++rows;
  }
};

Surrogate::Surrogate(const Space& space, double expected_within)
    : state_(std::make_unique<State>(space, expected_within)) {}
Surrogate::~Surrogate() = default;
Surrogate::Surrogate(Surrogate&&) noexcept = default;

void Surrogate::add_pending(std::int64_t slot, const Strategy& strategy, double prior) {
  State::Point point{slot, state_->sites.read(strategy), false, false, 0, prior};
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
    s.points.push_back({point.slot, s.sites.read(*point.strategy), point.settled,
                        point.settled && !point.fitness, point.fitness.value_or(0), point.prior});
  }
  s.standardise();
  if (s.accepted >= fewest_points) s.choose_hyper();
  s.rows = 0;
  s.codes.clear();
  for (const State::Point& point : s.points) s.append_row(point);
}

void Surrogate::update() {
  State& s = *state_;
  s.standardise();
  if (!s.ready) return;
  // A pending point believes what the settled rows before it predict, so that it says nothing of
  // its own: forward substitution with a zero residual.
  Eigen::VectorXd z(s.rows);
  for (Eigen::Index i = 0; i < s.rows; ++i) {
    const State::Point& point = s.points[static_cast<std::size_t>(i)];
    const double believed = s.factor.row(i).head(i).dot(z.head(i));
    z[i] = point.settled ? (s.target(point) - believed) / s.factor(i, i) : 0;
  }
  s.weights =
      s.factor.topLeftCorner(s.rows, s.rows).triangularView<Eigen::Lower>().transpose().solve(z);
}

bool Surrogate::ready() const { return state_->ready; }

FitnessPrediction Surrogate::predict(const Strategy& strategy, double prior) const {
  const State& s = *state_;
  if (!s.ready) return {s.slope * prior, 1};
  Eigen::VectorXd k = s.likenesses(s.sites.read(strategy));
  const double mean = s.mean(k, prior);
  return {mean, s.deviation(k)};
}

double Surrogate::promise(const Strategy& strategy, double prior, double best, double mark) const {
  const State& s = *state_;
  if (!s.ready) return s.slope * prior;
  Eigen::VectorXd k = s.likenesses(s.sites.read(strategy));
  const double mean = s.mean(k, prior);
  if (std::isinf(best)) return mean;
  const double most = log_gain(mean - best, s.scale);  // the less is known, the more is expected
  return most <= mark ? most : log_gain(mean - best, s.deviation(k));
}

}  // namespace cupilot
