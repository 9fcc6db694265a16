// Texture and surface objects as a launch binds them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ptx/syntax/type.hpp"

namespace cupilot::ptx {

// Texels lie row after row, layer after layer, from an address on, as in the tensor that the object
// is of: an array's own layout is the device's secret and makes no difference to a kernel.
struct TextureObject {
  enum class Memory : std::uint8_t { linear, pitch2d, array };
  enum class Address : std::uint8_t { clamp, border, wrap, mirror };
  std::string name;
  bool surface = false;
  Memory memory = Memory::array;
  Type channel = Type::f32;    // u8 s8 u16 s16 u32 s32 f16 f32
  std::uint32_t channels = 1;  // 1, 2, 4
  std::uint32_t rank = 1;      // of a layer
  std::array<std::int64_t, 3> sides{1, 1, 1};
  std::int64_t layers = 0;  // 0: not layered
  std::uint64_t address = 0, pitch = 0;
  Address mode = Address::clamp;
  bool linear = false;           // filter
  bool normalized = false;       // coordinates
  bool normalized_read = false;  // integers of 8 and 16 bits read as fractions
};

// The value that a kernel gets for an object of a launch.
inline constexpr std::uint64_t texture_handles = 0x00007c00'00000000ull;
inline std::uint64_t handle_of(std::size_t object) { return texture_handles + 1 + object; }

}  // namespace cupilot::ptx
