#include "ptx/machine/unwritten.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ptx/machine/mixed.hpp"

namespace cupilot::ptx {
namespace {

// Warps begin anywhere in the first half and see as much as the second.
constexpr std::size_t half = 8192;
using Noise = std::array<std::uint8_t, 2 * half>;

const Noise& noise() {
  static const Noise made = [] {
    Noise out{};
    for (std::size_t i = 0; i < out.size(); i += 8) {
      const std::uint64_t bits = mixed(i + 1);
      std::memcpy(out.data() + i, &bits, 8);
    }
    return out;
  }();
  return made;
}

}  // namespace

Unwritten::Unwritten(std::uint64_t drawn) {
  if (drawn == 0) return;
  static constexpr std::uint8_t plain[] = {0xff, 0x00, 0x7f};
  const std::uint64_t which = drawn % 4;
  if (which < std::size(plain)) {
    byte_ = plain[which];
  } else {
    noise_ = noise().data() + (drawn >> 8) % (half / 64) * 64;
  }
}

void Unwritten::fill(std::uint8_t* to, std::size_t bytes) const {
  if (noise_ == nullptr) {
    std::memset(to, byte_, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += half)
    std::memcpy(to + at, noise_, std::min(half, bytes - at));
}

std::uint8_t Unwritten::at(std::size_t index) const {
  return noise_ == nullptr ? byte_ : noise_[index % half];
}

}  // namespace cupilot::ptx
