#include "evolution/journal/prediction_score.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/median.hpp"
#include "evolution/search/knowledge.hpp"

namespace cupilot {
namespace {

constexpr std::size_t fewest_kernels = 10;

// Ranks, equal values sharing theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      rank[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return rank;
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> left = ranks(a), right = ranks(b);
  const double centre = (static_cast<double>(a.size()) - 1) / 2;
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    both += (left[i] - centre) * (right[i] - centre);
    first += (left[i] - centre) * (left[i] - centre);
    second += (right[i] - centre) * (right[i] - centre);
  }
  return first > 0 && second > 0 ? both / std::sqrt(first * second) : 0;
}

ForecastScore::ForecastScore(const RunState& state) {
  learnt_ = state.header.learnt.size();
  const auto task = task_from_json(state.header.task_json, "the journal's task");
  if (task)
    forecaster_ =
        learnt_forecaster(*task, state.header.device, builtin_tunables(), state.header.learnt);
}

void ForecastScore::take(const SearchEvent& event) {
  const auto* result = std::get_if<ResultRecord>(&event);
  const auto* accepted = result == nullptr || !forecaster_
                             ? nullptr
                             : std::get_if<Accepted>(&result->candidate.outcome);
  if (accepted == nullptr || !(accepted->measurement.time_us > 0)) return;
  const auto forecast = forecaster_(result->candidate.strategy);
  if (!forecast) return;
  expected_.push_back(forecast->log2_us);
  taken_.push_back(std::log2(accepted->measurement.time_us));
}

std::string ForecastScore::sentence() const {
  if (taken_.size() < fewest_kernels) return "";
  std::vector<double> errors;
  for (std::size_t i = 0; i < taken_.size(); ++i)
    errors.push_back(std::abs(std::exp2(expected_[i] - taken_[i]) - 1));
  const std::string from =
      learnt_ == 0 ? "" : fmt::format(" and what {} kernels of earlier runs took", learnt_);
  return fmt::format(
      "forecasts, by arithmetic{} before anything was compiled, against the times of {} kernels: "
      "rank correlation {:.2f}, median "
      "error {:.0f} %",
      from, taken_.size(), rank_correlation(expected_, taken_), 100 * median(std::move(errors)));
}

}  // namespace cupilot
