#pragma once

#include <cstdint>

namespace cupilot::ptx {

// The first multiple of `align` that is not below `value`.
inline std::uint64_t aligned(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace cupilot::ptx
