#include "rivals.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace cupilot {
namespace {

std::vector<int> random_point(const Landscape& landscape, Rng& rng) {
  std::vector<int> point(landscape.sites());
  for (int& state : point) state = static_cast<int>(rng.below(landscape.states()));
  return point;
}

void shuffle(std::vector<std::pair<std::size_t, int>>& moves, Rng& rng) {
  for (std::size_t i = moves.size(); i > 1; --i) {
    std::swap(moves[i - 1],
              moves[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  }
}

}  // namespace

std::int64_t random_search(const Landscape& landscape, const RaceRules& rules, Rng rng) {
  const double goal = landscape.spec().best_us * rules.within;
  for (std::int64_t count = 1; count < rules.cap; ++count) {
    if (landscape.time_us(random_point(landscape, rng)) <= goal) return count;
  }
  return rules.cap;
}

std::int64_t restarted_hill_climbing(const Landscape& landscape, const RaceRules& rules, Rng rng) {
  const double goal = landscape.spec().best_us * rules.within;
  std::set<std::vector<int>> known;
  std::vector<std::pair<std::size_t, int>> moves;
  for (std::size_t site = 0; site < landscape.sites(); ++site) {
    for (int shift = 1; shift < landscape.states(); ++shift) moves.emplace_back(site, shift);
  }
  const auto cost = [&] { return static_cast<std::int64_t>(known.size()); };
  while (cost() < rules.cap) {
    std::vector<int> here = random_point(landscape, rng);
    known.insert(here);
    double best = landscape.time_us(here);
    bool climbing = true;
    while (climbing && cost() < rules.cap) {
      if (best <= goal) return cost();
      climbing = false;
      shuffle(moves, rng);
      for (const auto& [site, shift] : moves) {
        std::vector<int> next = here;
        next[site] = (next[site] + shift) % landscape.states();
        known.insert(next);
        const double us = landscape.time_us(next);
        if (us >= best) continue;
        best = us;
        here = std::move(next);
        climbing = true;
        break;
      }
    }
  }
  return rules.cap;
}

}  // namespace cupilot
