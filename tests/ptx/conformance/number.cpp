#include "ptx/conformance/number.hpp"

#include <algorithm>

namespace conformance {
namespace {

int top_bit(u128 v) {
  const u64 high = static_cast<u64>(v >> 64), low = static_cast<u64>(v);
  return high != 0 ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
}

// v / 2^n with the lowest bit set if anything was cut off.
u128 jammed(u128 v, int n) {
  if (n <= 0) return v << -n;
  if (n > 127) return v != 0 ? 1 : 0;
  const u128 kept = v >> n;
  return kept | ((kept << n) != v ? 1 : 0);
}

// v / 2^n to an integer.
u128 rounded(u128 v, int n, Round round, bool negative) {
  if (n <= 0) return v << -n;
  const u128 kept = n > 127 ? 0 : v >> n, rest = n > 127 ? v : v - (kept << n);
  if (rest == 0) return kept;
  const u128 half = n > 127 ? ~u128{0} : u128{1} << (n - 1);
  bool up = false;
  if (round == Round::nearest) up = rest > half || (rest == half && (kept & 1) != 0);
  if (round == Round::away) up = rest >= half;
  if (round == Round::up) up = !negative;
  if (round == Round::down) up = negative;
  return kept + (up ? 1 : 0);
}

Number finite(bool negative, u128 magnitude, int exponent) {
  return {magnitude == 0 ? Number::zero : Number::finite, negative, magnitude, exponent};
}

Number scaled_to(Number v, int top) {
  const int by = top_bit(v.magnitude) - top;
  v.magnitude = jammed(v.magnitude, by);
  v.exponent += by;
  return v;
}

}  // namespace

Number decode(const Format& f, u64 bits) {
  bits >>= f.padding;
  const u64 fraction = bits & ((u64{1} << f.fraction) - 1), most = (u64{1} << f.exponent) - 1;
  const u64 exponent = (bits >> f.fraction) & most;
  const bool negative = ((bits >> (f.fraction + f.exponent)) & 1) != 0;
  const int least =
      2 - (1 << (f.exponent - 1)) - f.fraction;  // exponent of the last bit of a subnormal number
  if (f.finite_only && exponent == most && fraction == (u64{1} << f.fraction) - 1)
    return {Number::nan, negative, 0, 0};
  if (!f.finite_only && exponent == most)
    return {fraction != 0 ? Number::nan : Number::infinite, negative, 0, 0};
  if (exponent == 0) return finite(negative, fraction, least);
  return finite(negative, fraction | (u64{1} << f.fraction),
                least + static_cast<int>(exponent) - 1);
}

u64 encode(const Format& f, const Number& v, Round round, bool clamp) {
  const u64 sign = v.negative ? u64{1} << (f.fraction + f.exponent) : 0;
  const u64 infinity = ((u64{1} << f.exponent) - 1) << f.fraction;
  const u64 largest = f.finite_only ? (infinity | ((u64{1} << f.fraction) - 2)) : infinity - 1;
  const u64 overflow = f.finite_only ? largest + 1 : infinity;
  if (v.kind == Number::nan) return f.canonical_nan;
  if (v.kind == Number::zero) return sign << f.padding;
  if (v.kind == Number::infinite) return (sign | (clamp ? largest : overflow)) << f.padding;
  const int least = 2 - (1 << (f.exponent - 1));
  const int exponent = std::max(v.exponent + top_bit(v.magnitude), least);
  const auto kept =
      static_cast<u64>(rounded(v.magnitude, exponent - f.fraction - v.exponent, round, v.negative));
  // The implicit bit of a normal number adds one to the exponent's field; a carry out of the
  // fraction does the right thing too.
  const u64 packed = kept + (static_cast<u64>(exponent - least) << f.fraction);
  if (exponent <= 2 - least && packed <= largest) return (sign | packed) << f.padding;
  const bool inward = round == Round::zero || (round == Round::down && !v.negative) ||
                      (round == Round::up && v.negative);
  return (sign | (clamp || inward ? largest : overflow)) << f.padding;
}

Number of_integer(s128 value) {
  return finite(value < 0, value < 0 ? -static_cast<u128>(value) : static_cast<u128>(value), 0);
}

s128 to_integer(const Number& v, Round round, s128 low, s128 high) {
  if (v.kind == Number::zero) return 0;
  if (v.kind == Number::infinite || v.exponent + top_bit(v.magnitude) > 100)
    return v.negative ? low : high;
  const u128 whole = rounded(v.magnitude, -v.exponent, round, v.negative);
  const s128 value = v.negative ? -static_cast<s128>(whole) : static_cast<s128>(whole);
  return std::clamp(value, low, high);
}

Number sum(const Number& a, const Number& b, Round round) {
  if (a.kind == Number::nan || b.kind == Number::nan) return {Number::nan, false, 0, 0};
  if (a.kind == Number::infinite || b.kind == Number::infinite) {
    if (a.kind == b.kind && a.negative != b.negative) return {Number::nan, false, 0, 0};
    return a.kind == Number::infinite ? a : b;
  }
  const bool both_zero = a.kind == Number::zero && b.kind == Number::zero;
  if (both_zero)
    return {Number::zero, a.negative == b.negative ? a.negative : round == Round::down, 0, 0};
  if (a.kind == Number::zero) return b;
  if (b.kind == Number::zero) return a;
  Number x = scaled_to(a, 120), y = scaled_to(b, 120);
  if (x.exponent < y.exponent) std::swap(x, y);
  y.magnitude = jammed(y.magnitude, x.exponent - y.exponent);
  if (x.negative == y.negative) return finite(x.negative, x.magnitude + y.magnitude, x.exponent);
  if (x.magnitude == y.magnitude) return {Number::zero, round == Round::down, 0, 0};
  const bool swapped = x.magnitude < y.magnitude;
  return finite(swapped ? y.negative : x.negative,
                swapped ? y.magnitude - x.magnitude : x.magnitude - y.magnitude, x.exponent);
}

Number product(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Number::nan || b.kind == Number::nan) return {Number::nan, false, 0, 0};
  const bool infinite = a.kind == Number::infinite || b.kind == Number::infinite;
  const bool zero = a.kind == Number::zero || b.kind == Number::zero;
  if (infinite) return {zero ? Number::nan : Number::infinite, !zero && negative, 0, 0};
  return finite(negative, a.magnitude * b.magnitude, a.exponent + b.exponent);
}

Number quotient(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Number::nan || b.kind == Number::nan ||
      (a.kind == b.kind && a.kind != Number::finite))
    return {Number::nan, false, 0, 0};
  if (a.kind == Number::infinite || b.kind == Number::zero)
    return {Number::infinite, negative, 0, 0};
  if (a.kind == Number::zero || b.kind == Number::infinite) return {Number::zero, negative, 0, 0};
  const Number x = scaled_to(a, 126);
  const u128 q = x.magnitude / b.magnitude;
  return finite(negative, q | (q * b.magnitude != x.magnitude ? 1 : 0), x.exponent - b.exponent);
}

Number root(const Number& a) {
  if (a.kind == Number::zero || a.kind == Number::nan) return a;
  if (a.negative) return {Number::nan, false, 0, 0};
  if (a.kind == Number::infinite) return a;
  Number x = scaled_to(a, 120);
  if (x.exponent % 2 != 0) {
    x.magnitude <<= 1;
    --x.exponent;
  }
  u128 r = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const u128 next = r | (u128{1} << bit);
    if (next * next <= x.magnitude) r = next;
  }
  return finite(false, (r << 1) | (r * r != x.magnitude ? 1 : 0), x.exponent / 2 - 1);
}

Number rounded_whole(const Number& a, Round round) {
  if (a.kind != Number::finite || a.exponent >= 0) return a;
  return finite(a.negative, rounded(a.magnitude, -a.exponent, round, a.negative), 0);
}

Number negated(Number a) {
  a.negative = !a.negative;
  return a;
}

bool is_nan(const Format& format, u64 bits) { return decode(format, bits).kind == Number::nan; }

bool is_subnormal(const Format& format, u64 bits) {
  return decode(format, bits).kind == Number::finite &&
         ((bits >> (format.padding + format.fraction)) & ((u64{1} << format.exponent) - 1)) == 0;
}

u64 quieted(const Format& format, u64 nan) {
  return nan | (u64{1} << (format.padding + format.fraction - 1));
}

bool is_tiny(const Format& format, const Number& v, Round round) {
  if (v.kind != Number::finite) return false;
  const int below = 2 - (1 << (format.exponent - 1)) - (v.exponent + top_bit(v.magnitude));
  if (below != 1) return below > 1;
  return rounded(v.magnitude, top_bit(v.magnitude) - format.fraction, round, v.negative) >>
             (format.fraction + 1) ==
         0;
}

int compared(const Number& a, const Number& b) {
  if (a.kind == Number::nan || b.kind == Number::nan) return 2;
  const auto sign = [](const Number& v) {
    return v.kind == Number::zero ? 0 : v.negative ? -1 : 1;
  };
  if (sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
  if (sign(a) == 0) return 0;
  if (a.kind == Number::infinite || b.kind == Number::infinite)
    return a.kind == b.kind ? 0 : (a.kind == Number::infinite) != a.negative ? 1 : -1;
  const Number difference = sum(a, negated(b), Round::nearest);
  return difference.kind == Number::zero ? 0 : difference.negative ? -1 : 1;
}

}  // namespace conformance
