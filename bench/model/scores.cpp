#include "scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

// Ranks, equal values sharing theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && values[order[end]] == values[order[begin]];) ++end;
    for (std::size_t i = begin; i < end; ++i)
      rank[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return rank;
}

double spearman(const std::vector<Pair>& pairs) {
  std::vector<double> measured, expected;
  for (const Pair& pair : pairs) {
    measured.push_back(pair.measured_us);
    expected.push_back(pair.expected_us);
  }
  const std::vector<double> a = ranks(measured), b = ranks(expected);
  const double centre = static_cast<double>(pairs.size() - 1) / 2;
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - centre) * (b[i] - centre);
    first += (a[i] - centre) * (a[i] - centre);
    second += (b[i] - centre) * (b[i] - centre);
  }
  return first > 0 && second > 0 ? both / std::sqrt(first * second) : 0;
}

double rounded(double value) { return std::round(value * 10000) / 10000; }

}  // namespace

Score score(const std::vector<Pair>& pairs) {
  Score result;
  result.strategies = pairs.size();
  if (pairs.size() < 4) return result;
  result.spearman = spearman(pairs);
  std::vector<Pair> sorted = pairs;
  std::sort(sorted.begin(), sorted.end(),
            [](const Pair& a, const Pair& b) { return a.measured_us < b.measured_us; });
  const double best = sorted.front().measured_us;
  result.spearman_fastest_quarter =
      spearman({sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 4)});
  std::sort(sorted.begin(), sorted.end(),
            [](const Pair& a, const Pair& b) { return a.expected_us < b.expected_us; });
  double top = sorted.front().measured_us;
  for (std::size_t i = 0; i < std::min<std::size_t>(10, sorted.size()); ++i)
    top = std::min(top, sorted[i].measured_us);
  result.top_ten_over_best = top / best;
  std::vector<double> errors;
  double within = 0;
  for (const Pair& pair : pairs) {
    errors.push_back(std::abs(pair.expected_us / pair.measured_us - 1));
    within += std::abs(std::log2(pair.measured_us / pair.expected_us)) <= pair.sigma ? 1 : 0;
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  result.median_absolute_error = errors[errors.size() / 2];
  result.within_sigma = within / static_cast<double>(pairs.size());
  return result;
}

nlohmann::json score_json(const Score& score) {
  return {{"strategies", score.strategies},
          {"spearman", rounded(score.spearman)},
          {"spearman_fastest_quarter", rounded(score.spearman_fastest_quarter)},
          {"top_ten_over_best", rounded(score.top_ten_over_best)},
          {"median_absolute_error", rounded(score.median_absolute_error)},
          {"within_sigma", rounded(score.within_sigma)}};
}
