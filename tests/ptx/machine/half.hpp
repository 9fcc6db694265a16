// fp16 as a test reads and writes it, by integers alone: not every compiler has a type for it.
#pragma once

#include <bit>

#include "ptx/conformance/number.hpp"

namespace conformance {

inline float value_of_fp16(u64 bits) {
  return std::bit_cast<float>(
      static_cast<u32>(encode(fp32, decode(fp16, bits & 0xffff), Round::nearest)));
}
inline u64 nearest_fp16(double value) {
  return encode(fp16, decode(fp64, std::bit_cast<u64>(value)), Round::nearest);
}

}  // namespace conformance
