#include <cupilot/parts/space.hpp>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

// Share of techniques that only one parent has.
constexpr double inherited = 0.75;

const Technique* row_of(const Space& space, const std::string& name) {
  for (const Technique& technique : space.techniques()) {
    if (technique.name == name) return &technique;
  }
  return nullptr;
}

// A technique both have: the settings of one technique stay together, or are mixed one by one.
Use mixed(const Use& a, const Use& b, Rng& rng) {
  if (rng.chance(0.5)) return rng.chance(0.5) ? a : b;
  Use use = a;
  for (const auto& [name, value] : b.values) {
    if (rng.chance(0.5)) use.values[name] = value;
  }
  return use;
}

}  // namespace

Strategy cross(const Space& space, const Strategy& a, const Strategy& b, Rng rng) {
  // The parent that comes first decides where the two exclude one another, such as which core
  // computes.
  const bool a_first = rng.chance(0.5);
  const Strategy& first = a_first ? a : b;
  const Strategy& second = a_first ? b : a;
  Strategy wish;
  for (const Use& use : first.uses) {
    const Technique* row = row_of(space, use.technique);
    const Use* other = find_use(second, use.technique);
    if (other != nullptr) {
      wish.uses.push_back(mixed(use, *other, rng));
    } else if ((row != nullptr && !row->group.empty()) || rng.chance(inherited)) {
      wish.uses.push_back(use);
    }
  }
  for (const Use& use : second.uses) {
    if (find_use(first, use.technique) == nullptr && rng.chance(inherited))
      wish.uses.push_back(use);
  }
  Result<Completion> done = space.complete(wish);
  if (!done) return first;
  return std::move(done->strategy);
}

}  // namespace cupilot
