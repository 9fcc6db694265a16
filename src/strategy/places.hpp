// Strategies as numbers, to tell quickly how far others are from them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <cupilot/parts/space.hpp>

namespace cupilot {

class Places {
 public:
  // `all` has to outlive it, as has the space.
  Places(const Space& space, std::span<const Strategy> all);
  // `distance` to the nearest of all; infinite where there is none.
  double nearest(const Strategy& strategy) const;

 private:
  struct Place {
    std::vector<std::int16_t> uses;  // of each technique
    std::vector<std::int16_t> at;  // position in each knob's domain, where its technique is in use
    int outside = 0;               // uses of techniques that the space does not know
  };
  Place place_of(const Strategy& strategy) const;
  // Or something else that is not less than `most`.
  double between(const Place& a, const Place& b, double most) const;

  const Space& space_;
  std::span<const Strategy> all_;
  std::unordered_map<std::string_view, std::size_t> techniques_;
  std::vector<std::size_t> technique_of_;           // of each knob
  std::vector<std::vector<std::size_t>> knobs_of_;  // of each technique
  std::vector<Place> places_;
};

}  // namespace cupilot
