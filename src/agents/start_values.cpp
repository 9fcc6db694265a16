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

Step best_step(const std::vector<Knob>& knobs, const std::vector<std::size_t>& movable, const BlockCount& blocks,
               std::vector<std::int64_t> values, std::int64_t now) {
  Step best{0, 0, 0, now};
  for (const std::size_t k : movable) {
    const std::int64_t from = values[k];
    const auto at = std::find(knobs[k].domain.begin(), knobs[k].domain.end(), from);
    if (at == knobs[k].domain.end() || at == knobs[k].domain.begin()) continue;
    values[k] = *(at - 1);
    const std::int64_t count = blocks(values);
    if (count > best.blocks || (count == best.blocks && count > now && from > best.from)) best = {k, from, values[k], count};
    values[k] = from;
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
    const Step best = best_step(knobs, movable, blocks, values, now);
    if (best.blocks <= now) return;
    values[best.knob] = best.to;
    knobs[best.knob].fallback = best.to;
    now = best.blocks;
  }
}

}  // namespace cupilot
