#include "strategy/places.hpp"

#include <algorithm>
#include <cmath>

#include "strategy/edit.hpp"

namespace cupilot {

Places::Places(const Space& space, std::span<const Strategy> all) : space_(space), all_(all) {
  for (const Technique& technique : space.techniques())
    techniques_.emplace(technique.name, techniques_.size());
  for (const Knob& knob : space.knobs()) {
    const std::size_t t = techniques_.emplace(knob.technique, techniques_.size()).first->second;
    knobs_of_.resize(techniques_.size());
    knobs_of_[t].push_back(technique_of_.size());
    technique_of_.push_back(t);
  }
  knobs_of_.resize(techniques_.size());
  for (const Strategy& strategy : all) places_.push_back(place_of(strategy));
}

Places::Place Places::place_of(const Strategy& strategy) const {
  Place place{std::vector<std::int16_t>(knobs_of_.size()),
              std::vector<std::int16_t>(technique_of_.size()), 0};
  for (const Use& use : strategy.uses) {
    const auto found = techniques_.find(use.technique);
    if (found == techniques_.end()) {
      ++place.outside;
    } else if (place.uses[found->second]++ == 0) {
      for (const std::size_t k : knobs_of_[found->second])
        place.at[k] = static_cast<std::int16_t>(position_of(space_.knobs()[k], use));
    }
  }
  return place;
}

double Places::between(const Place& a, const Place& b, double most) const {
  int apart = a.outside + b.outside;
  for (std::size_t t = 0; t < a.uses.size(); ++t) {
    if (a.uses[t] == 0 || b.uses[t] == 0) apart += a.uses[t] + b.uses[t];
  }
  double total = apart;
  for (std::size_t k = 0; k < a.at.size() && total < most; ++k) {
    const std::size_t values = space_.knobs()[k].domain.size();
    if (a.at[k] == b.at[k] || values < 2 || a.uses[technique_of_[k]] == 0 ||
        b.uses[technique_of_[k]] == 0)
      continue;
    total += std::abs(a.at[k] - b.at[k]) / static_cast<double>(values - 1);
  }
  return total;
}

double Places::nearest(const Strategy& strategy) const {
  const Place place = place_of(strategy);
  double least = INFINITY;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    // Techniques that the space does not know are told apart by name.
    const bool known = place.outside == 0 || places_[i].outside == 0;
    least = std::min(
        least, known ? between(place, places_[i], least) : distance(space_, strategy, all_[i]));
  }
  return least;
}

}  // namespace cupilot
