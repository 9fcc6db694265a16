#include <map>

#include <cupilot/space.hpp>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

// Draws of parameters before an illegal one is projected. Projection crowds the border of the legal region.
constexpr int parameter_draws = 4;

Strategy sampled_techniques(const Space& space, Rng& rng) {
  Strategy wish;
  // One density for the whole strategy: sparse and rich ones are equally likely.
  const double density = rng.unit();
  std::map<std::string, std::vector<const Technique*>> groups;
  for (const Technique& technique : space.techniques()) {
    if (!technique.group.empty()) groups[technique.group].push_back(&technique);
  }
  for (const auto& [name, members] : groups) {
    wish.uses.push_back(
        {members[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(members.size())))]->name, {}, "", {}});
  }
  // A random order, so that of two rivals neither is always first.
  std::vector<const Technique*> others;
  for (const Technique& technique : space.techniques()) {
    if (technique.group.empty() && rng.chance(density)) others.push_back(&technique);
  }
  for (std::size_t i = others.size(); i > 1; --i)
    std::swap(others[i - 1], others[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
  for (const Technique* technique : others) wish.uses.push_back({technique->name, {}, "", {}});
  return wish;
}

void draw_parameters(const Space& space, Strategy& strategy, Rng& rng) {
  for (const Knob& knob : space.knobs()) {
    Use* use = find_use(strategy, knob.technique);
    if (use == nullptr || use->values.count(knob.parameter) == 0) continue;
    use->values[knob.parameter] = knob.domain[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(knob.domain.size())))];
  }
}

}  // namespace

Strategy sample(const Space& space, Rng rng) {
  // The first completion adds what every strategy of the skeleton holds, so that its parameters are drawn too.
  Result<Completion> techniques = space.complete(sampled_techniques(space, rng));
  if (!techniques) return {};
  Strategy strategy = std::move(techniques->strategy);
  for (int draw = 0; draw < parameter_draws; ++draw) {
    draw_parameters(space, strategy, rng);
    if (space.feasible(strategy)) return strategy;
  }
  Result<Completion> projected = space.complete(strategy);
  return projected ? std::move(projected->strategy) : std::move(techniques->strategy);
}

}  // namespace cupilot
