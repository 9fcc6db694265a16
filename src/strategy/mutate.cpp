#include <algorithm>
#include <cmath>

#include <cupilot/parts/space.hpp>

#include "strategy/genome.hpp"

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

std::int64_t drawn(const Knob& knob, Rng& rng) {
  return knob
      .domain[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(knob.domain.size())))];
}

// One thing about one technique; `pinned` gets what was changed.
Genome changed(const GenomeSpace& space, const Genome& genome, int technique, Rng& rng,
               Pins& pinned) {
  const Alphabet& alphabet = space.alphabet();
  std::vector<int> knobs = alphabet.knobs_of[static_cast<std::size_t>(technique)];
  const auto row = [&](int k) -> const Knob& {
    return alphabet.knobs[static_cast<std::size_t>(k)];
  };
  pinned.techniques.push_back(technique);
  Genome next = genome;
  if (!holds(genome, technique)) {
    put_in_front(alphabet, technique, next);
    for (const int k : knobs) next.values[static_cast<std::size_t>(k)] = drawn(row(k), rng);
    return next;
  }
  std::erase_if(knobs, [&](int k) { return row(k).domain.size() < 2; });
  if (knobs.empty() || rng.chance(removal)) {
    Genome less = genome;
    remove(alphabet, technique, less);
    // A technique that has to stay is set anew instead.
    if (knobs.empty()) return less;
    const std::optional<Genome> done = space.completed(less, pinned);
    if (done && !holds(*done, technique)) return less;
  }
  const int knob =
      knobs[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(knobs.size())))];
  next.values[static_cast<std::size_t>(knob)] =
      moved(row(knob), position_in(alphabet, knob, genome), rng);
  pinned.knobs.push_back(knob);
  return next;
}

}  // namespace

Strategy mutate(const Space& space, const Strategy& parent, int steps,
                const TechniqueWeight& weight, Rng rng) {
  const std::shared_ptr<const GenomeSpace> genomes = genomes_of(space);
  const Alphabet& alphabet = genomes->alphabet();
  if (alphabet.offered.empty()) return parent;
  std::vector<double> weights;
  for (const Technique& technique : space.techniques())
    weights.push_back(weight ? std::max(weight(technique.name), least_weight) : 1.0);
  const Genome from = alphabet.read(parent);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Genome wish = from;
    Pins pinned;
    for (int step = 0; step < std::max(1, steps); ++step)
      wish = changed(*genomes, wish, alphabet.offered[draw_weighted(weights, rng)], rng, pinned);
    const std::optional<Genome> done = genomes->completed(wish, pinned);
    if (done && differ(alphabet, *done, from)) return spelled(alphabet, *done, parent);
  }
  const std::optional<Genome> same = genomes->completed(from, {});
  return same ? spelled(alphabet, *same, parent) : parent;
}

}  // namespace cupilot
