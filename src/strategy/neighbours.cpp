#include <set>

#include <cupilot/space.hpp>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

struct Collector {
  const Space& space;
  std::set<std::string> seen;
  std::vector<Strategy> found;

  bool add(Strategy strategy) {
    if (!space.feasible(strategy)) return false;
    // Completing puts techniques into the space's order and spells every value out.
    Result<Completion> done = space.complete(strategy);
    if (done && seen.insert(strategy_id(done->strategy)).second) found.push_back(std::move(done->strategy));
    return true;
  }
};

// The first legal value on each side.
void step_knob(Collector& collector, const Strategy& strategy, const Use& use, const Knob& knob) {
  const int at = position_of(knob, use);
  for (const int direction : {1, -1}) {
    for (int to = at + direction; to >= 0 && to < static_cast<int>(knob.domain.size()); to += direction) {
      Strategy next = strategy;
      find_use(next, use.technique)->values[knob.parameter] = knob.domain[static_cast<std::size_t>(to)];
      if (collector.add(std::move(next))) break;
    }
  }
}

}  // namespace

std::vector<Strategy> neighbours(const Space& space, const Strategy& strategy) {
  Collector collector{space, {}, {}};
  collector.seen.insert(strategy_id(strategy));
  for (const Knob& knob : space.knobs()) {
    if (const Use* use = find_use(strategy, knob.technique)) step_knob(collector, strategy, *use, knob);
  }
  for (const Technique& technique : space.techniques()) {
    const bool held = find_use(strategy, technique.name) != nullptr;
    const Strategy wish = held ? without(strategy, technique.name) : with(space, strategy, Use{technique.name, {}, "", {}});
    Result<Completion> done = space.complete(wish, {technique.name});
    if (done && (find_use(done->strategy, technique.name) != nullptr) != held) collector.add(std::move(done->strategy));
  }
  return std::move(collector.found);
}

}  // namespace cupilot
