#include "kernel/texture_limits.hpp"

#include <fmt/core.h>

namespace cupilot {
namespace {

constexpr std::int64_t most_linear = 1 << 27;  // texels of linear memory
constexpr std::int64_t pitch_unit = 32, most_pitch = 2097120;

// Greatest sides, of compute capability 7.5 to 9.0 (CUDA C++ Programming Guide, Technical
// Specifications), and of layers.
struct Limits {
  std::int64_t sides[3];
  std::int64_t layers;
};

Limits limits_of(const ResolvedTexture& t) {
  const bool surface = t.state.surface;
  if (t.state.memory == TextureMemory::linear) return {{most_linear, 1, 1}, 0};
  if (t.state.memory == TextureMemory::pitch2d) return {{131072, 65000, 1}, 0};
  if (t.state.layered && t.rank == 1) return {{32768, 1, 1}, 2048};
  if (t.state.layered) return {{32768, 32768, 1}, 2048};
  if (t.rank == 1) return {{surface ? 32768 : 131072, 1, 1}, 0};
  if (t.rank == 2) return {{131072, 65536, 1}, 0};
  return {{16384, 16384, 16384}, 0};
}

}  // namespace

std::int64_t texel_bytes(const TextureState& state) {
  constexpr std::int64_t bytes[] = {1, 1, 2, 2, 4, 4, 2, 4};  // of TextureType
  return bytes[static_cast<std::size_t>(state.type)] * state.channels;
}

std::int64_t texture_bytes(const ResolvedTexture& t) {
  const std::int64_t slices = t.rank > 2 ? t.sides[2] : t.layers > 0 ? t.layers : 1;
  const std::int64_t rows = t.rank > 1 ? t.sides[1] * slices : slices;
  return (rows - 1) * t.pitch + t.sides[0] * texel_bytes(t.state);
}

std::string texture_limit(const ResolvedTexture& t) {
  const Limits most = limits_of(t);
  for (std::size_t d = 0; d < static_cast<std::size_t>(t.rank); ++d) {
    if (t.sides[d] < 1 || t.sides[d] > most.sides[d])
      return fmt::format("a side of {} texels; want 1 to {}", t.sides[d], most.sides[d]);
  }
  if (t.state.layered && (t.layers < 1 || t.layers > most.layers))
    return fmt::format("{} layers; want 1 to {}", t.layers, most.layers);
  if (t.state.memory != TextureMemory::pitch2d) return {};
  if (t.pitch % pitch_unit != 0 || t.pitch > most_pitch ||
      t.pitch < t.sides[0] * texel_bytes(t.state))
    return fmt::format("a pitch of {} bytes; want a multiple of {} from the row's {} to {}",
                       t.pitch, pitch_unit, t.sides[0] * texel_bytes(t.state), most_pitch);
  return {};
}

}  // namespace cupilot
