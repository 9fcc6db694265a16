// Learns what the time model gets wrong from recorded landscapes, as the file that ships beside a
// family's templates (docs/formats/time-model.md, Residual), and scores it.
//
//   model_residual OUT.json SCORES.json COUNTS_DIR LANDSCAPE_DIR…
//
// OUT.json: kernels/families/NAME/residual-DEVICE.json. SCORES.json: the time model alone and
// corrected, by landscape, of kernels of landscapes, and of types, that nothing was learnt from.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "landscapes.hpp"
#include "predict/kernel_residual.hpp"
#include "predict/resources.hpp"
#include "scores.hpp"

using namespace cupilot;
using nlohmann::json;

namespace {

// Kernels slower than this, over the fastest of their landscape, teach nothing: the errors of poor
// ones would be laid upon good ones.
constexpr double slowest = 3;
constexpr double most_error = 1.5;              // octaves: errors beyond count as that large
constexpr std::size_t points_for_scales = 900;  // of which the weights are chosen
constexpr std::size_t shipped_points = 1600;    // that a file holds
constexpr double least_spread = 0.25;           // of a coordinate, for its first weight
constexpr double least_gain = 0.004;            // of the score, for another weight to be taken
constexpr double most_surprise = 9;             // squared deviations that one kernel may count
// Operators whose kernels the landscapes hold.
constexpr const char* products[] = {"gemm", "matmul", "addmm", "linear", "einsum"};

struct Point {
  std::size_t landscape = 0;
  std::string type{};
  double measured_us = 0, modelled_us = 0;
  std::vector<double> coordinates{};
  double error() const {
    return std::clamp(std::log2(measured_us / modelled_us), -most_error, most_error);
  }
};
using Points = std::vector<Point>;

Points points_of(const std::vector<Landscape>& landscapes) {
  Points points;
  for (std::size_t i = 0; i < landscapes.size(); ++i) {
    const Landscape& from = landscapes[i];
    double best = std::numeric_limits<double>::infinity();
    for (const Row& row : from.rows) best = std::min(best, row.time_us);
    for (const Row& row : from.rows) {
      if (row.launches.empty() || row.time_us > slowest * best) continue;
      const ModelledTime time = model_time(from.device, row.launches);
      points.push_back({i, from.name.substr(0, from.name.find('-')), row.time_us, time.us,
                        resource_coordinates(from.device, row.launches, time)});
    }
  }
  return points;
}

Points spread(const Points& all, std::size_t most) {
  if (all.size() <= most) return all;
  Points kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(all[i * all.size() / most]);
  return kept;
}

// Mean log density of each kernel's error, as expected from the kernels of all other landscapes.
double score_of(const Points& points, const ResidualData& scales) {
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd k(n, n);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Point& a = points[static_cast<std::size_t>(i)];
    y[i] = a.error() / scales.deviation;
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Point& b = points[static_cast<std::size_t>(j)];
      double apart = 0;
      for (std::size_t c = 0; c < a.coordinates.size(); ++c) {
        const double d = (a.coordinates[c] - b.coordinates[c]) * scales.weights[c];
        apart += d * d;
      }
      k(i, j) = k(j, i) = std::exp(-apart / 2) + (i == j ? scales.noise : 0);
    }
  }
  const Eigen::MatrixXd inverse = k.llt().solve(Eigen::MatrixXd::Identity(n, n));
  const Eigen::VectorXd pulls = inverse * y;
  std::map<std::size_t, std::vector<Eigen::Index>> groups;
  for (Eigen::Index i = 0; i < n; ++i)
    groups[points[static_cast<std::size_t>(i)].landscape].push_back(i);
  double sum = 0;
  for (const auto& [landscape, own] : groups) {
    const Eigen::MatrixXd covariance = inverse(own, own).inverse();
    const Eigen::VectorXd off = covariance * pulls(own);
    for (Eigen::Index i = 0; i < off.size(); ++i) {
      const double surprise = off[i] * off[i] / covariance(i, i);
      sum -= 0.5 * (std::min(surprise, most_surprise) + std::log(covariance(i, i))) +
             std::log(scales.deviation);
    }
  }
  return sum / static_cast<double>(n);
}

std::vector<double> spreads_of(const Points& points) {
  std::vector<double> spreads;
  const double n = static_cast<double>(points.size());
  for (std::size_t c = 0; c < points.front().coordinates.size(); ++c) {
    double sum = 0, squares = 0;
    for (const Point& point : points) {
      sum += point.coordinates[c];
      squares += point.coordinates[c] * point.coordinates[c];
    }
    spreads.push_back(std::sqrt(std::max(0.0, squares / n - sum * sum / n / n)));
  }
  return spreads;
}

// All coordinates alike first; then one after another matters less or more where that tells of
// landscapes that are left out.
ResidualData scales_of(const Points& all) {
  const Points points = spread(all, points_for_scales);
  const std::vector<double> spreads = spreads_of(points);
  ResidualData best;
  double most = -1e300;
  const auto attempt = [&](const ResidualData& tried, double gain) {
    const double score = score_of(points, tried);
    if (score < most + gain) return;
    most = score;
    best = tried;
  };
  for (const double weight : {0.1, 0.15, 0.2, 0.3}) {
    for (const double noise : {0.03, 0.1, 0.3}) {
      for (const double deviation : {0.3, 0.5, 0.8}) {
        ResidualData tried;
        tried.deviation = deviation;
        tried.noise = noise;
        for (const double wide : spreads)
          tried.weights.push_back(wide > 0 ? weight / std::max(wide, least_spread) : 0);
        attempt(tried, 0);
      }
    }
  }
  for (int round = 0; round < 6; ++round) {
    const double before = most;
    for (std::size_t c = 0; c < spreads.size(); ++c) {
      for (const double factor : {0.4, 2.0}) {
        ResidualData tried = best;
        tried.weights[c] *= factor;
        attempt(tried, least_gain);
      }
    }
    if (most == before) break;
  }
  std::printf("%zu kernels, mean log density %.3f\n", all.size(), most);
  return best;
}

ResidualData learnt(ResidualData scales, const Points& points) {
  for (const Point& point : spread(points, shipped_points)) {
    scales.points.push_back(point.coordinates);
    scales.errors.push_back(point.error());
  }
  return scales;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

json file_of(const ResidualData& data, const std::string& device,
             const std::vector<Landscape>& landscapes) {
  json weights = json::object(), points = json::array(), from = json::array();
  for (std::size_t c = 0; c < data.weights.size(); ++c)
    weights[std::string(resource_names()[c])] = rounded(data.weights[c]);
  for (std::size_t i = 0; i < data.points.size(); ++i) {
    json row = {rounded(data.errors[i])};
    for (const double value : data.points[i]) row.push_back(std::round(value * 100) / 100);
    points.push_back(std::move(row));
  }
  for (const Landscape& one : landscapes) from.push_back(one.device.name + " " + one.name);
  return {{"cupilot_residual", 2},   {"device", device},
          {"operators", products},   {"deviation", data.deviation},
          {"noise", data.noise},     {"weights", std::move(weights)},
          {"from", std::move(from)}, {"points", std::move(points)}};
}

// How many per cent slower than the fastest the fastest of the `count` expected fastest is.
double lost(std::vector<Pair> pairs, std::size_t count) {
  const auto measured = [](const Pair& a, const Pair& b) { return a.measured_us < b.measured_us; };
  const double best = std::min_element(pairs.begin(), pairs.end(), measured)->measured_us;
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair& a, const Pair& b) { return a.expected_us < b.expected_us; });
  pairs.resize(std::min(pairs.size(), count));
  return 100 * (std::min_element(pairs.begin(), pairs.end(), measured)->measured_us / best - 1);
}

json scored(const std::vector<Pair>& pairs) {
  json all = score_json(score(pairs));
  all["champion_percent"] = std::round(10 * lost(pairs, 1)) / 10;
  all["of_five_percent"] = std::round(10 * lost(pairs, 5)) / 10;
  return all;
}

// Each kernel's time corrected by what was learnt of all that `apart` calls of another group.
std::vector<Pair> left_out(const Points& points, const ResidualData& scales,
                           const std::function<std::string(const Point&)>& group) {
  std::map<std::string, std::unique_ptr<KernelResidual>> made;
  std::vector<Pair> pairs;
  for (const Point& point : points) {
    auto& residual = made[group(point)];
    if (!residual) {
      Points others;
      for (const Point& other : points) {
        if (group(other) != group(point)) others.push_back(other);
      }
      residual = std::make_unique<KernelResidual>(learnt(scales, others));
    }
    const ResidualGuess guess = residual->guess(point.coordinates);
    pairs.push_back({point.measured_us, point.modelled_us * std::exp2(guess.mean), guess.sigma});
  }
  return pairs;
}

json scores_of(const Points& points, const std::vector<Landscape>& landscapes,
               const ResidualData& scales) {
  std::map<std::string, std::vector<Pair>> ways;
  for (const Point& point : points)
    ways["counts alone"].push_back({point.measured_us, point.modelled_us, 0});
  ways["other landscapes"] =
      left_out(points, scales, [](const Point& point) { return std::to_string(point.landscape); });
  ways["other types"] = left_out(points, scales, [](const Point& point) { return point.type; });
  json result;
  for (const auto& [way, pairs] : ways) {
    result["pooled"][way] = score_json(score(pairs));
    std::printf("%-18s pooled rank correlation %.3f\n", way.c_str(), score(pairs).spearman);
    std::map<std::size_t, std::vector<Pair>> own;
    for (std::size_t i = 0; i < points.size(); ++i) own[points[i].landscape].push_back(pairs[i]);
    for (const auto& [i, of] : own) {
      const std::string name = landscapes[i].device.name + " " + landscapes[i].name;
      const json& one = result[name][way] = scored(of);
      std::printf(
          "%-18s %-30s n %4zu  rho %.3f  champion %+5.1f %%  of five %+5.1f %%  error %.3f\n",
          way.c_str(), name.c_str(), of.size(), one["spearman"].get<double>(),
          one["champion_percent"].get<double>(), one["of_five_percent"].get<double>(),
          one["median_absolute_error"].get<double>());
    }
  }
  return result;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr,
                 "usage: model_residual OUT.json SCORES.json COUNTS_DIR LANDSCAPE_DIR...\n");
    return 2;
  }
  std::vector<Landscape> landscapes;
  for (int i = 4; i < count; ++i) landscapes.push_back(read_landscape(words[i], words[3]));
  const Points points = points_of(landscapes);
  const ResidualData scales = scales_of(points);
  std::ofstream(words[1])
      << file_of(learnt(scales, points), landscapes.front().device.name, landscapes).dump() << "\n";
  std::ofstream(words[2]) << scores_of(points, landscapes, scales).dump(1) << "\n";
  return 0;
}
