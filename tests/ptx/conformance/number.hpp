// Binary floating point by integers alone: what the conformance tests hold the interpreter's
// arithmetic against.
#pragma once

#include <cstdint>

namespace conformance {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

// An IEEE-like format: one sign, `exponent` and `fraction` bits, then `padding` zero bits (tf32 in
// its 32-bit register).
struct Format {
  int exponent, fraction, padding;
  bool finite_only;   // e4m3: no infinity, all ones is the one NaN
  u64 canonical_nan;  // what arithmetic on an H200 gives
};
inline constexpr Format fp64{11, 52, 0, false, 0xfff8000000000000u},
    fp32{8, 23, 0, false, 0x7fffffff};
inline constexpr Format fp16{5, 10, 0, false, 0x7fff}, bf16{8, 7, 0, false, 0x7fff},
    tf32{8, 10, 13, false, 0x7fffe000};
inline constexpr Format e4m3{4, 3, 0, true, 0x7f}, e5m2{5, 2, 0, false, 0x7f};

enum class Round { nearest, zero, down, up, away };  // away: to nearest, ties away from zero

// magnitude * 2^exponent. The lowest bit stands for all that was cut off below it, if anything was.
struct Number {
  enum Kind { zero, finite, infinite, nan } kind = zero;
  bool negative = false;
  u128 magnitude = 0;
  int exponent = 0;
};

Number decode(const Format& format, u64 bits);
// `clamp`: the largest finite number instead of an infinity.
u64 encode(const Format& format, const Number& value, Round round, bool clamp = false);
Number of_integer(s128 value);
// A finite value rounded to an integer, clamped to [low, high].
s128 to_integer(const Number& value, Round round, s128 low, s128 high);

// Exact, or with the lowest bit telling of the rest. `round` gives the sign of a zero sum of two
// numbers that are none.
Number sum(const Number& a, const Number& b, Round round);
Number product(const Number& a, const Number& b);
Number quotient(const Number& a, const Number& b);
Number root(const Number& a);
Number rounded_whole(const Number& a, Round round);
Number negated(Number a);

bool is_nan(const Format& format, u64 bits);
bool is_subnormal(const Format& format, u64 bits);
u64 quieted(const Format& format, u64 nan);
// Whether a value would round to less than the least normal number if the format had more
// exponents.
bool is_tiny(const Format& format, const Number& value, Round round);
// -1, 0, 1; 2 when either is no number.
int compared(const Number& a, const Number& b);

}  // namespace conformance
