#include <algorithm>
#include <cmath>

#include <cupilot/space.hpp>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

constexpr int attempts = 8;
constexpr double far_step = 0.2;  // a parameter takes any value instead of a neighbouring one
constexpr double removal = 0.35;  // a technique with parameters goes instead of being set anew
constexpr double least_weight = 1e-6;

std::size_t draw_weighted(const std::vector<double>& weights, Rng& rng) {
  double total = 0;
  for (const double weight : weights) total += weight;
  double at = rng.unit() * total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    at -= weights[i];
    if (at < 0) return i;
  }
  return weights.size() - 1;
}

std::int64_t moved(const Knob& knob, int from, Rng& rng) {
  const auto count = static_cast<int>(knob.domain.size());
  int to = 0;
  if (rng.chance(far_step)) {
    to = static_cast<int>(rng.below(count));
  } else {
    const int step = rng.chance(0.5) ? 1 : -1;
    to = from + step;
    if (to < 0 || to >= count) to = from - step;
  }
  return knob.domain[static_cast<std::size_t>(std::clamp(to, 0, count - 1))];
}

Use drawn_use(const std::string& technique, const std::vector<const Knob*>& knobs, Rng& rng) {
  Use use{technique, {}, "", {}};
  for (const Knob* knob : knobs)
    use.values[knob->parameter] =
        knob->domain[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(knob->domain.size())))];
  return use;
}

// One thing about one technique; `pinned` gets what was changed.
Strategy changed(const Space& space, const Strategy& strategy, const std::string& technique, Rng& rng,
                 std::vector<std::string>& pinned) {
  std::vector<const Knob*> knobs = knobs_of(space, technique);
  const Use* use = find_use(strategy, technique);
  pinned.push_back(technique);
  if (use == nullptr) return with(space, strategy, drawn_use(technique, knobs, rng));
  std::erase_if(knobs, [](const Knob* knob) { return knob->domain.size() < 2; });
  if (knobs.empty() || rng.chance(removal)) {
    Strategy less = without(strategy, technique);
    Result<Completion> done = space.complete(less, pinned);
    // A technique that has to stay is set anew instead.
    if (knobs.empty() || (done && find_use(done->strategy, technique) == nullptr)) return less;
  }
  Strategy next = strategy;
  const Knob& knob = *knobs[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(knobs.size())))];
  find_use(next, technique)->values[knob.parameter] = moved(knob, position_of(knob, *use), rng);
  pinned.push_back(technique + '.' + knob.parameter);
  return next;
}

}  // namespace

Strategy mutate(const Space& space, const Strategy& parent, int steps, const TechniqueWeight& weight, Rng rng) {
  const std::vector<Technique>& techniques = space.techniques();
  if (techniques.empty()) return parent;
  std::vector<double> weights;
  for (const Technique& technique : techniques) weights.push_back(weight ? std::max(weight(technique.name), least_weight) : 1.0);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Strategy wish = parent;
    std::vector<std::string> pinned;
    for (int step = 0; step < std::max(1, steps); ++step)
      wish = changed(space, wish, techniques[draw_weighted(weights, rng)].name, rng, pinned);
    Result<Completion> done = space.complete(wish, pinned);
    if (done && distance(space, done->strategy, parent) > 0) return std::move(done->strategy);
  }
  Result<Completion> same = space.complete(parent);
  if (!same) return parent;
  return std::move(same->strategy);
}

}  // namespace cupilot
