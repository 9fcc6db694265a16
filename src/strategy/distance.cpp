#include <cmath>

#include <cupilot/parts/space.hpp>

#include "strategy/edit.hpp"

namespace cupilot {

double distance(const Space& space, const Strategy& a, const Strategy& b) {
  double total = 0;
  for (const Use& use : a.uses) total += find_use(b, use.technique) == nullptr ? 1.0 : 0.0;
  for (const Use& use : b.uses) total += find_use(a, use.technique) == nullptr ? 1.0 : 0.0;
  const std::string* technique =
      nullptr;  // whose uses were looked up last: its knobs stand together
  const Use *in_a = nullptr, *in_b = nullptr;
  for (const Knob& knob : space.knobs()) {
    if (technique == nullptr || *technique != knob.technique) {
      technique = &knob.technique;
      in_a = find_use(a, knob.technique);
      in_b = find_use(b, knob.technique);
    }
    if (in_a == nullptr || in_b == nullptr || knob.domain.size() < 2) continue;
    total += std::abs(position_of(knob, *in_a) - position_of(knob, *in_b)) /
             static_cast<double>(knob.domain.size() - 1);
  }
  return total;
}

}  // namespace cupilot
