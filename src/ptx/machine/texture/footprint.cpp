// Addressing and filtering as the CUDA C++ Programming Guide says under "Texture Fetching". Where
// it leaves something open, an H200 answers (docs/results/textures/weights-h200.json): coordinates
// are rounded to the nearest 256th of a texel before a linear filter takes their fraction of 8
// bits, and the weights of two, four or eight texels are whole 256ths whose sum is 1.
#include "ptx/machine/texture/footprint.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/machine/atomic.hpp"
#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {
namespace {

using Address = TextureObject::Address;

// Far beyond any texture, and exact.
double tamed(double x) {
  constexpr double far = 1ll << 40;
  return std::isnan(x) ? 0 : std::clamp(x, -far, far);
}

double in_texels(const TextureObject& t, std::size_t side, double x) {
  return t.normalized ? tamed(x * static_cast<double>(t.sides[side])) : tamed(x);
}

// Wrap and mirror are for normalized coordinates; others clamp in their place.
bool clamps(const TextureObject& t) {
  const bool folds = t.mode == Address::wrap || t.mode == Address::mirror;
  return t.mode == Address::clamp || (folds && !t.normalized);
}

// The texel that stands at `i` of a side of n; -1: none does.
std::int64_t addressed(const TextureObject& t, std::int64_t n, std::int64_t i) {
  if (i >= 0 && i < n) return i;
  if (t.mode == Address::border) return -1;
  if (clamps(t)) return std::clamp<std::int64_t>(i, 0, n - 1);
  const std::int64_t period = t.mode == Address::wrap ? n : 2 * n;
  const std::int64_t at = (i % period + period) % period;
  return at < n ? at : 2 * n - 1 - at;
}

Footprint::Texel texel(const TextureObject& t, const std::array<std::int64_t, 3>& at,
                       double weight) {
  Footprint::Texel out{true, {}, weight};
  for (std::size_t d = 0; d < t.rank; ++d) {
    out.at[d] = addressed(t, t.sides[d], at[d]);
    out.inside = out.inside && out.at[d] >= 0;
  }
  return out;
}

}  // namespace

std::uint32_t texel_bytes(const TextureObject& t) { return bytes_of(t.channel) * t.channels; }

std::uint64_t texel_address(const TextureObject& t, const std::array<std::int64_t, 3>& at,
                            std::int64_t layer) {
  const auto rows = t.rank > 1 ? t.sides[1] : 1;
  const std::int64_t slice = t.rank > 2 ? at[2] : layer;
  const std::int64_t row = slice * rows + (t.rank > 1 ? at[1] : 0);
  return t.address + static_cast<std::uint64_t>(row) * t.pitch +
         static_cast<std::uint64_t>(at[0]) * texel_bytes(t);
}

Footprint point_footprint(const TextureObject& t, const std::array<double, 3>& at) {
  std::array<std::int64_t, 3> i{};
  for (std::size_t d = 0; d < t.rank; ++d)
    i[d] = static_cast<std::int64_t>(std::floor(in_texels(t, d, at[d])));
  Footprint out;
  out.texels[0] = texel(t, i, 1);
  out.count = 1;
  return out;
}

namespace {

// Weights in 256ths of the corners of a cell, x first; `fraction` in 256ths. A plane's weight is
// split along x, halves up, and each part along y: halves up beside the second texel of x, halves
// down beside the first.
std::array<std::int64_t, 8> corner_weights(const std::array<std::int64_t, 3>& fraction) {
  const auto [x, y, z] = fraction;
  std::array<std::int64_t, 8> weights{};
  for (std::size_t plane = 0; plane < 2; ++plane) {
    const std::int64_t all = plane == 0 ? 256 - z : z;
    const std::int64_t second = (all * x + 128) >> 8, first = all - second;
    const std::int64_t below_second = (second * y + 128) >> 8, below_first = (first * y + 127) >> 8;
    const std::array<std::int64_t, 4> four{first - below_first, second - below_second, below_first,
                                           below_second};
    std::copy(four.begin(), four.end(), weights.begin() + static_cast<std::ptrdiff_t>(4 * plane));
  }
  return weights;
}

}  // namespace

Footprint linear_footprint(const TextureObject& t, const std::array<double, 3>& at) {
  std::array<std::int64_t, 3> first{}, fraction{};
  for (std::size_t d = 0; d < t.rank; ++d) {
    auto fixed = static_cast<std::int64_t>(std::floor((in_texels(t, d, at[d]) - 0.5) * 256 + 0.5));
    if (clamps(t)) fixed = std::clamp<std::int64_t>(fixed, 0, 256 * (t.sides[d] - 1));
    first[d] = fixed >> 8;
    fraction[d] = fixed & 255;
  }
  const std::array<std::int64_t, 8> weights = corner_weights(fraction);
  Footprint out;
  out.count = 1 << t.rank;
  for (std::size_t corner = 0; corner < static_cast<std::size_t>(out.count); ++corner) {
    std::array<std::int64_t, 3> i = first;
    for (std::size_t d = 0; d < t.rank; ++d) i[d] += static_cast<std::int64_t>(corner >> d & 1);
    out.texels[corner] = texel(t, i, static_cast<double>(weights[corner]) / 256);
  }
  return out;
}

Footprint fetch_footprint(const TextureObject& t, const std::array<std::int64_t, 3>& at) {
  Footprint out;
  out.count = 1;
  const bool linear = t.memory == TextureObject::Memory::linear;
  if (!linear || (at[0] >= 0 && at[0] < t.sides[0])) out.texels[0] = texel(t, at, 1);
  return out;
}

double channel_value(const TextureObject& t, const std::uint8_t* bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes, bytes_of(t.channel));
  const auto fraction = [&](double value, double most) {
    return t.normalized_read ? std::max(value / most, -1.0) : value;
  };
  switch (t.channel) {
    case Type::u8:
      return fraction(bits, 255);
    case Type::s8:
      return fraction(static_cast<std::int8_t>(bits), 127);
    case Type::u16:
      return fraction(bits, 65535);
    case Type::s16:
      return fraction(static_cast<std::int16_t>(bits), 32767);
    case Type::s32:
      return static_cast<std::int32_t>(bits);
    case Type::u32:
      return bits;
    case Type::f16:
      return half_value(static_cast<std::uint16_t>(bits), false);
    default:
      return std::bit_cast<float>(bits);
  }
}

}  // namespace cupilot::ptx
