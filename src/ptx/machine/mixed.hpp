// Draws of a launch: what a device leaves open is taken from the seed.
#pragma once

#include <cstdint>

namespace cupilot::ptx {

// 64 bits that look drawn, of 64 bits that count.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace cupilot::ptx
