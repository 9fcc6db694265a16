// Lays out a kernel's declarations in a block's shared memory. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// The first multiple of `align` that is not below `value`.
inline std::uint64_t aligned(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

// Offsets from shared_base.
struct SharedExtent {
  std::uint32_t variables = 0;   // the end of the last
  std::uint32_t dynamic_at = 0;  // of the extern array
  // Dynamic memory starts on 16 bytes; a block without any ends where its variables end.
  std::uint32_t bytes(std::uint32_t dynamic) const {
    return dynamic == 0 ? variables : dynamic_at + dynamic;
  }
};

// After a variable: memory that no variable holds, so that what runs past the variable meets no
// other. What follows lies `moved` bytes later than on a device.
struct SharedGap {
  std::uint32_t begin = 0, end = 0, moved = 0;  // offsets; bytes
};

// Bytes that the system keeps for itself in each block's shared memory (compute capability 9.0),
// which cooperative groups of several warps meet in.
inline constexpr std::uint32_t reserved_bytes = 1024;

struct SharedLayout {
  // Such bytes lie at the start here where a kernel asks for them. On a device they lie below
  // shared_base, and no size of a block's counts them.
  bool reserved = false;
  SharedExtent here, device;  // with the gaps and without
  std::vector<SharedGap> gaps;
  std::vector<std::uint64_t> address;  // of each variable
};

// Variables one after another, then the extern array.
SharedLayout shared_layout(const std::vector<const Variable*>& variables,
                           std::uint32_t extern_align, bool reserved = false);

}  // namespace cupilot::ptx
