#include "strategy/edit.hpp"

#include <algorithm>

#include "strategy/skeleton_plan.hpp"

namespace cupilot {

const Use* find_use(const Strategy& strategy, std::string_view technique) {
  const auto found = std::find_if(strategy.uses.begin(), strategy.uses.end(),
                                  [&](const Use& use) { return use.technique == technique; });
  return found == strategy.uses.end() ? nullptr : &*found;
}

Use* find_use(Strategy& strategy, std::string_view technique) {
  return const_cast<Use*>(find_use(static_cast<const Strategy&>(strategy), technique));
}

std::vector<const Knob*> knobs_of(const Space& space, std::string_view technique) {
  std::vector<const Knob*> knobs;
  for (const Knob& knob : space.knobs()) {
    if (knob.technique == technique) knobs.push_back(&knob);
  }
  return knobs;
}

int position_of(const Knob& knob, const Use& use) {
  const auto found = use.values.find(knob.parameter);
  return nearest(knob.domain, found == use.values.end() ? knob.fallback : found->second);
}

Strategy without(const Strategy& strategy, std::string_view technique) {
  Strategy rest = strategy;
  std::erase_if(rest.uses, [&](const Use& use) { return use.technique == technique; });
  return rest;
}

bool rivals(const Technique& a, const Technique& b) {
  const auto excludes = [](const Technique& x, const Technique& y) {
    return std::find(x.excludes.begin(), x.excludes.end(), y.name) != x.excludes.end();
  };
  if (a.name == b.name) return false;
  return excludes(a, b) || excludes(b, a) || (!a.group.empty() && a.group == b.group);
}

}  // namespace cupilot
