// Which kernels of many serve a set of shapes.
#include <algorithm>
#include <bit>
#include <cmath>

#include <cupilot/wisdom.hpp>

#include "wisdom/regret.hpp"

namespace cupilot {
namespace {

using Times = std::vector<std::vector<double>>;

double best_of(const Times& times, const std::vector<int>& kernels, std::size_t shape) {
  double best = HUGE_VAL;
  for (const int kernel : kernels) {
    const double time = times[static_cast<std::size_t>(kernel)][shape];
    if (time > 0) best = std::min(best, time);
  }
  return best;
}

std::vector<int> all_of(const Times& times) {
  std::vector<int> all(times.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

// The best set of `count` kernels.
KernelChoice exact(const Times& times, const std::vector<double>& weights, int count) {
  KernelChoice best{{}, HUGE_VAL};
  for (unsigned set = 1; set < 1u << times.size(); ++set) {
    if (std::popcount(set) != count) continue;
    std::vector<int> kernels;
    for (int i = 0; i < static_cast<int>(times.size()); ++i) {
      if ((set >> i & 1) != 0) kernels.push_back(i);
    }
    const double regret = regret_of(times, weights, kernels);
    if (best.kernels.empty() || regret < best.regret) best = {kernels, regret};
  }
  return best;
}

// `from` and the one kernel that helps it most.
KernelChoice grown(const Times& times, const std::vector<double>& weights,
                   const std::vector<int>& from) {
  KernelChoice best{from, HUGE_VAL};
  for (const int kernel : all_of(times)) {
    if (std::find(from.begin(), from.end(), kernel) != from.end()) continue;
    std::vector<int> kernels = from;
    kernels.push_back(kernel);
    const double regret = regret_of(times, weights, kernels);
    if (best.kernels.size() == from.size() || regret < best.regret) best = {kernels, regret};
  }
  std::sort(best.kernels.begin(), best.kernels.end());
  return best;
}

}  // namespace

double regret_of(const Times& times, const std::vector<double>& weights,
                 const std::vector<int>& kernels) {
  const std::vector<int> all = all_of(times);
  double sum = 0, weight = 0;
  for (std::size_t shape = 0; shape < weights.size(); ++shape) {
    const double best = best_of(times, all, shape);
    if (std::isinf(best)) continue;  // nobody serves it: no choice changes that
    sum += weights[shape] * (best_of(times, kernels, shape) / best - 1);
    weight += weights[shape];
  }
  return weight > 0 ? sum / weight : 0;
}

KernelChoice choose_kernels(const Times& times, const std::vector<double>& weights, int keep,
                            double goal) {
  constexpr std::size_t exact_limit = 16;
  const int most = keep > 0 ? std::min<int>(keep, static_cast<int>(times.size()))
                            : static_cast<int>(times.size());
  KernelChoice choice{{}, HUGE_VAL};
  for (int count = 1; count <= most; ++count) {
    choice = times.size() <= exact_limit ? exact(times, weights, count)
                                         : grown(times, weights, choice.kernels);
    if (choice.regret <= goal) break;
  }
  return choice;
}

}  // namespace cupilot
