#include "agents/propose/relief.hpp"

#include <algorithm>

#include "agents/propose/technique_weights.hpp"
#include "strategy/edit.hpp"

namespace cupilot {
namespace {

constexpr double least_share = 0.05;  // less is not worth a sentence

// Nothing where the technique does not fit the strategy, or no forecast knows both.
std::optional<double> expected_gain(const StrategyBrief& brief, const Strategy& strategy,
                                    const Technique& technique) {
  if (!brief.forecast) return std::nullopt;
  Strategy wish = strategy;
  wish.uses.push_back({technique.name, {}, "", {}});
  const auto with = brief.space->complete(wish, {technique.name});
  if (!with || find_use(with->strategy, technique.name) == nullptr) return std::nullopt;
  const auto before = brief.forecast(strategy), after = brief.forecast(with->strategy);
  if (!before || !after) return std::nullopt;
  return before->log2_us - after->log2_us;
}

}  // namespace

std::vector<Relief> reliefs(const StrategyBrief& brief, const Individual& individual,
                            std::size_t most) {
  std::vector<Relief> all;
  if (!brief.roofline) return all;
  for (const Technique& technique : brief.space->techniques()) {
    if (!technique.group.empty() || find_use(individual.strategy, technique.name) != nullptr)
      continue;
    Relief relief{&technique, Resource::dram, 0, {}};
    for (const Bottleneck& pressure : individual.verdict.bottlenecks) {
      const double share = pressure.share * part_relieved(technique, pressure.resource);
      if (share <= relief.share) continue;
      relief.share = share;
      relief.resource = pressure.resource;
    }
    if (relief.share < least_share) continue;
    relief.log2_gain = expected_gain(brief, individual.strategy, technique);
    all.push_back(relief);
  }
  std::stable_sort(all.begin(), all.end(), [](const Relief& a, const Relief& b) {
    const double gain_a = a.log2_gain.value_or(0), gain_b = b.log2_gain.value_or(0);
    return gain_a != gain_b ? gain_a > gain_b : a.share > b.share;
  });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace cupilot
