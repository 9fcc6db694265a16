#include "agents/start_values.hpp"

#include <algorithm>

namespace cupilot {
namespace {

// Each step about doubles the blocks, and fewer than this leave no tile worth the name.
constexpr int most_steps = 8;

struct Step {
  std::size_t knob = 0;
  std::int64_t from = 0, to = 0, blocks = 0;
};

// The largest smaller value of this knob that doubles the blocks or makes them enough; without one, that of most blocks.
Step step_of(const Knob& knob, std::size_t at, const BlockCount& blocks, std::vector<std::int64_t> values, std::int64_t now,
             std::int64_t wanted) {
  const std::int64_t from = values[at];
  Step best{at, from, from, 0};
  const auto place = std::find(knob.domain.begin(), knob.domain.end(), from);
  if (place == knob.domain.end()) return best;
  for (auto smaller = place; smaller != knob.domain.begin();) {
    values[at] = *--smaller;
    const std::int64_t count = blocks(values);
    if (count > best.blocks) best = {at, from, values[at], count};
    if (count >= std::min(2 * now, wanted)) break;
  }
  return best;
}

Step best_step(const std::vector<Knob>& knobs, const std::vector<std::size_t>& movable, const BlockCount& blocks,
               const std::vector<std::int64_t>& values, std::int64_t now, std::int64_t wanted) {
  Step best{0, 0, 0, now};
  for (const std::size_t k : movable) {
    const Step step = step_of(knobs[k], k, blocks, values, now, wanted);
    if (step.blocks > best.blocks || (step.blocks == best.blocks && step.blocks > now && step.from > best.from)) best = step;
  }
  return best;
}

}  // namespace

void fill_machine(std::vector<Knob>& knobs, const std::vector<std::size_t>& movable, const BlockCount& blocks,
                  std::int64_t wanted) {
  std::vector<std::int64_t> values;
  for (const Knob& knob : knobs) values.push_back(knob.fallback);
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
