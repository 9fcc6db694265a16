// Which texels of a texture object a coordinate takes, and their values.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/machine/texture_object.hpp"

namespace cupilot::ptx {

std::uint32_t texel_bytes(const TextureObject& t);
// Address of a texel that lies inside.
std::uint64_t texel_address(const TextureObject& t, const std::array<std::int64_t, 3>& at,
                            std::int64_t layer);

// Texels of one fetch and their weights, which sum to one. One outside counts as zeros.
struct Footprint {
  struct Texel {
    bool inside = false;
    std::array<std::int64_t, 3> at{};
    double weight = 1;
  };
  std::array<Texel, 8> texels;
  int count = 0;
};
Footprint point_footprint(const TextureObject& t, const std::array<double, 3>& at);
Footprint linear_footprint(const TextureObject& t, const std::array<double, 3>& at);
// Texels themselves, by integer coordinates.
Footprint fetch_footprint(const TextureObject& t, const std::array<std::int64_t, 3>& at);

// A channel's bytes as a number: of integers their value, or the fraction of the greatest.
double channel_value(const TextureObject& t, const std::uint8_t* bytes);

}  // namespace cupilot::ptx
