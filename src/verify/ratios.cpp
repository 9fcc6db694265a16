#include "verify/ratios.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "task/axes.hpp"

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

constexpr std::int64_t small = 2;  // of the axes beside a pair

bool varies(const Task& task, const Axis& axis) {
  return axis.kind != AxisKind::fixed && !is_absent(task, axis.name);
}

// `base` with `pair.from` for every axis that is looked up, `pair.to` for `chosen` and 2 for the
// others, which the plan may round up; nullopt where it takes no such pair.
std::optional<Workload> of_pair(const Task& task, const PlanRequirements& requirements,
                                const PlanSteps& steps, const Workload& base, const SizePair& pair,
                                const Axis& chosen) {
  Workload wanted = base;
  std::vector<std::string> kept;
  for (const Axis& axis : task.axes) {
    if (!varies(task, axis)) continue;
    const bool looked_up = is_looked_up(task, axis.name);
    wanted.sizes[axis.name] = looked_up ? pair.from : axis.name == chosen.name ? pair.to : small;
    if (looked_up || axis.name == chosen.name) kept.push_back(axis.name);
  }
  auto shape = fitting(task, requirements, steps, wanted);
  const bool keeps = shape && std::all_of(kept.begin(), kept.end(), [&](const std::string& name) {
                       return shape->sizes.at(name) == wanted.sizes.at(name);
                     });
  return keeps ? shape : std::nullopt;
}

}  // namespace

std::vector<Workload> ratio_shapes(const Task& task, const PlanRequirements& requirements,
                                   const PlanSteps& steps, const Workload& base) {
  std::vector<Workload> out;
  std::vector<const Axis*> chosen;  // against those that are looked up
  Workload least = base;
  for (const Axis& axis : task.axes)
    if (varies(task, axis)) least.sizes[axis.name] = small;
  const auto fit = fitting(task, requirements, steps, least);
  const auto unit = [&](const Axis& axis) {
    const std::int64_t size = fit ? fit->sizes.at(axis.name) : small;
    return size > small ? size : 1;
  };
  std::int64_t from = 1;
  for (const Axis& axis : task.axes) {
    if (!varies(task, axis)) continue;
    if (is_looked_up(task, axis.name))
      from = std::lcm(from, unit(axis));
    else
      chosen.push_back(&axis);
  }
  const auto of = [&](const SizePair& pair, const Axis* axis) {
    return of_pair(task, requirements, steps, base, pair, *axis);
  };
  // Pairs of one axis after another, the first of each first.
  const auto add = [&](const std::vector<const Axis*>& axes, const auto& pairs_of) {
    for (std::size_t i = 0, most = 1; i < most; ++i) {
      for (const Axis* axis : axes) {
        const auto& pairs = pairs_of(axis);
        most = std::max(most, pairs.size());
        if (auto shape = i < pairs.size() ? of(pairs[i], axis) : std::nullopt)
          out.push_back(std::move(*shape));
      }
    }
  };
  std::vector<const Axis*> bound;  // at which the plan does not take all the usual pairs
  std::map<const Axis*, std::vector<SizePair>> multiples;
  const auto usual = telling_ratios();
  for (const Axis* axis : chosen) {
    if (std::all_of(usual.begin(), usual.end(), [&](const SizePair& p) { return of(p, axis); }))
      continue;
    bound.push_back(axis);
    multiples[axis] = telling_ratios({from, unit(*axis)});
  }
  add(bound, [&](const Axis* axis) { return std::span<const SizePair>(multiples[axis]); });
  add(chosen, [&](const Axis*) { return usual; });
  return out;
}

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

std::vector<SizePair> telling_ratios(const SizePair& units) {
  constexpr std::int64_t most = 24;
  constexpr int rounds = 2;
  std::vector<SizePair> multiples, pairs;
  for (std::int64_t a = 1; a <= most; ++a)
    for (std::int64_t b = 1; b <= most; ++b) multiples.push_back({a, b});
  std::stable_sort(multiples.begin(), multiples.end(), [](const SizePair& x, const SizePair& y) {
    return x.from * x.to < y.from * y.to;
  });
  std::array<int, formulas.size()> times{};
  for (const SizePair& one : multiples) {
    const SizePair pair{one.from * units.from, one.to * units.to};
    const Told told = told_by(pair.from, pair.to);
    bool adds = false;
    for (std::size_t f = 0; f < formulas.size(); ++f) adds |= told[f] && times[f]++ < rounds;
    if (adds) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace cupilot
