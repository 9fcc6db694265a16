#include "verify/ratios.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <vector>

namespace cupilot {
namespace {

// The element of `a` that element `i` of `b` reads: floor of `rounded`, and of `over` / `under`.
struct Place {
  float rounded = 0;
  std::int64_t over = 0, under = 1;
};
using Formula = Place (*)(std::int64_t i, std::int64_t a, std::int64_t b);

float real(std::int64_t value) { return static_cast<float>(value); }
Place by_factor(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {real(i) * (real(a) / real(b)), i * a, b};
}
Place by_divisor(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {real(i) / (real(b) / real(a)), i * a, b};
}
Place by_reciprocal(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {real(i * a) * (1.0f / real(b)), i * a, b};
}
Place by_part(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {real(i) * (1.0f / real(b)) * real(a), i * a, b};
}
Place centre_by_factor(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {(real(i) + 0.5f) * (real(a) / real(b)), (2 * i + 1) * a, 2 * b};
}
Place centre_by_divisor(std::int64_t i, std::int64_t a, std::int64_t b) {
  return {(real(i) + 0.5f) / (real(b) / real(a)), (2 * i + 1) * a, 2 * b};
}
Place corners(std::int64_t i, std::int64_t a, std::int64_t b) {
  if (b < 2) return {};
  return {real(i) * (real(a - 1) / real(b - 1)), i * (a - 1), b - 1};
}

constexpr std::array<Formula, 7> formulas = {
    by_factor, by_divisor, by_reciprocal, by_part, centre_by_factor, centre_by_divisor, corners};
using Told = std::bitset<formulas.size()>;

bool tells(Formula formula, std::int64_t a, std::int64_t b) {
  for (std::int64_t i = 0; i < b; ++i) {
    const Place place = formula(i, a, b);
    const auto rounded = static_cast<std::int64_t>(place.rounded);
    if (std::min(rounded, a - 1) != std::min(place.over / place.under, a - 1)) return true;
  }
  return false;
}

Told told_by(std::int64_t a, std::int64_t b) {
  Told told;
  for (std::size_t f = 0; f < formulas.size(); ++f) told[f] = tells(formulas[f], a, b);
  return told;
}

// Adds pairs of multiples of `unit` until no pair tells a formula that `rounds` pairs do not yet.
void add_pairs(std::int64_t unit, std::int64_t most, int rounds, std::vector<SizePair>& into) {
  struct Known {
    SizePair pair;
    Told told;
  };
  std::vector<Known> known;
  for (std::int64_t a = unit; a <= most; a += unit) {
    for (std::int64_t b = unit; b <= most; b += unit) {
      const Told told = told_by(a, b);
      if (told.any()) known.push_back({{a, b}, told});
    }
  }
  for (int round = 0; round < rounds; ++round) {
    Told left = Told().set();
    while (true) {
      const auto best =
          std::max_element(known.begin(), known.end(), [&](const Known& x, const Known& y) {
            return (x.told & left).count() < (y.told & left).count();
          });
      if (best == known.end() || (best->told & left).none()) break;
      into.push_back(best->pair);
      left &= ~best->told;
      known.erase(best);
    }
  }
}

std::vector<SizePair> search() {
  std::vector<SizePair> pairs;
  add_pairs(1, 63, 2, pairs);
  add_pairs(4, 128, 1, pairs);
  add_pairs(8, 128, 1, pairs);
  return pairs;
}

template <class Real>
void add_divisors(std::size_t count, std::vector<std::int64_t>& into) {
  for (std::int64_t size = 2; count > 0; ++size) {
    const auto real = static_cast<Real>(size);
    if (real * (Real(1) / real) >= Real(1)) continue;
    into.push_back(size);
    --count;
  }
}

}  // namespace

std::span<const std::int64_t> telling_divisors() {
  static const std::vector<std::int64_t> sizes = [] {
    std::vector<std::int64_t> found;
    add_divisors<float>(2, found);
    add_divisors<double>(1, found);
    return found;
  }();
  return sizes;
}

std::span<const SizePair> telling_ratios() {
  static const std::vector<SizePair> pairs = search();
  return pairs;
}

}  // namespace cupilot
