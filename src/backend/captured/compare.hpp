// Compares what a replay left in a buffer with what the device left there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace cupilot {

enum class FloatType { f64, f32, f16, bf16 };
std::string_view name_of(FloatType type);

struct BufferDifference {
  std::uint64_t bytes = 0;  // that differ
  std::uint64_t first = 0;  // offset of the first
  bool rounded = false;     // all of it are roundings of values of `type`
  FloatType type = FloatType::f32;
  double ulps = 0;    // most units in the last place
  std::string words;  // "1.5, the device 2.5"
};

// Compares what `wanted` says of an offset's word of 4 bytes. `types`: of the kernel's arithmetic;
// values are looked at in each of them. Within a rounding: a difference of at most 2^-40 (fp64),
// 2^-14 (fp32), 2^-7 (fp16) or 2^-5 (bf16) of the value, or of the buffer's mean value.
BufferDifference compare_left(std::span<const std::uint8_t> ours,
                              std::span<const std::uint8_t> devices,
                              const std::function<bool(std::uint64_t word)>& wanted,
                              std::span<const FloatType> types);

}  // namespace cupilot
