// The fundamental and packed types of PTX.
#pragma once

#include <cstdint>

namespace cupilot::ptx {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f32x2,
  f64,
  tf32,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  b1,
  u4,
  s4,
};
}  // namespace cupilot::ptx
