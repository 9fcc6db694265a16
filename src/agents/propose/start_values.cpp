#include "agents/propose/start_values.hpp"

#include <algorithm>

namespace cupilot {
namespace {

// Each step about doubles the blocks, and fewer than this leave no tile worth the name.
constexpr int most_steps = 8;

using Values = std::vector<std::int64_t>;

struct Step {
  std::size_t knob = 0;
  std::int64_t from = 0, to = 0, blocks = 0;
};

// Other values of a knob, nearest first: a smaller tile, or a larger split of K.
Values candidates(const Knob& knob, std::int64_t value, bool larger) {
  const auto at = std::find(knob.domain.begin(), knob.domain.end(), value);
  if (at == knob.domain.end()) return {};
  return larger ? Values(at + 1, knob.domain.end())
                : Values(std::make_reverse_iterator(at), knob.domain.rend());
}

// The nearest value that doubles the blocks or makes them enough; without one, that of most blocks.
Step step_of(std::size_t knob, const Values& others, const BlockCount& blocks, Values values,
             std::int64_t now, std::int64_t wanted) {
  Step best{knob, values[knob], values[knob], 0};
  for (const std::int64_t value : others) {
    values[knob] = value;
    const std::int64_t count = blocks(values);
    if (count > best.blocks) best = {knob, best.from, value, count};
    if (count >= std::min(2 * now, wanted)) break;
  }
  return best;
}

Step best_step(const std::vector<Knob>& knobs, const std::vector<std::size_t>& movable,
               const BlockCount& blocks, const Values& values, std::int64_t now,
               std::int64_t wanted) {
  Step best{0, 0, 0, now};
  for (const bool larger : {false, true}) {
    for (const std::size_t k : movable) {
      const Step step =
          step_of(k, candidates(knobs[k], values[k], larger), blocks, values, now, wanted);
      if (step.blocks > best.blocks ||
          (step.blocks == best.blocks && step.blocks > now && step.from > best.from))
        best = step;
    }
    if (best.blocks > now) break;
  }
  return best;
}

}  // namespace

Values fallbacks(const std::vector<Knob>& knobs) {
  Values values;
  for (const Knob& knob : knobs) values.push_back(knob.fallback);
  return values;
}

void fit_tiles(std::vector<Knob>& knobs, const std::vector<std::size_t>& tiles,
               const BlockCount& blocks) {
  Values values = fallbacks(knobs);
  for (const std::size_t knob : tiles) {
    std::int64_t now = blocks(values);
    const Values& domain = knobs[knob].domain;
    const auto at = std::find(domain.begin(), domain.end(), values[knob]);
    if (at == domain.end()) continue;
    for (auto smaller = std::make_reverse_iterator(at); smaller != domain.rend(); ++smaller) {
      Values tried = values;
      tried[knob] = *smaller;
      const std::int64_t count = blocks(tried);
      if (count == 0 || (now != 0 && count > now)) continue;
      values = std::move(tried);
      now = count;
    }
    knobs[knob].fallback = values[knob];
  }
}

void fill_machine(std::vector<Knob>& knobs, const std::vector<std::size_t>& movable,
                  const BlockCount& blocks, std::int64_t wanted) {
  Values values = fallbacks(knobs);
  std::int64_t now = blocks(values);
  for (int step = 0; step < most_steps && now > 0 && now < wanted; ++step) {
    const Step best = best_step(knobs, movable, blocks, values, now, wanted);
    if (best.blocks <= now) return;
    values[best.knob] = best.to;
    knobs[best.knob].fallback = best.to;
    now = best.blocks;
  }
}

}  // namespace cupilot
