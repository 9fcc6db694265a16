// Input content in pieces, for those who read little of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "task/content.hpp"

namespace cupilot {

// Makes pieces of a tensor's storage, whatever a whole costs: where each place is one element or
// none. nullopt: one place may be several elements.
class PiecewiseInput {
 public:
  static std::optional<PiecewiseInput> of(const FillParams& params);
  // Storage from element `first` on: elements, and zeros in the gaps between strides.
  void make(std::int64_t first, std::span<std::byte> bytes) const;

 private:
  struct Dimension {
    std::int64_t stride, extent, place;  // place: what a step adds to the dense index
  };
  FillParams params_;
  std::vector<Dimension> dimensions_;  // by falling stride
};

}  // namespace cupilot
