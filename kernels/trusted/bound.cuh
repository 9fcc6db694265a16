// Judges one output element: error against the bound from the tracked reference. One text
// for host C++ and CUDA. The formula and its constants: docs/formats/numerics.md.
#ifndef CUPILOT_TRUSTED_BOUND_CUH
#define CUPILOT_TRUSTED_BOUND_CUH

#include "storage.cuh"

namespace cupilot {

// The order of CheckKind, then what an index of computed values is judged by.
enum CheckCode : int {
  check_within,
  check_bitwise,
  check_index_of,
  check_close,
  check_custom,
  check_gap
};

// An output's check as plain numbers; goes by value to kernels.
struct BoundParams {
  int check, type;
  double per_sum;  // within: factor of the condition sum S, accumulation and granted input rounding
                   // together
  double per_value;           // within: factor of |reference|, the output's own rounding
  double tiny;                // within: added always, the output type's underflow
  double relative, absolute;  // close
  // Content of integers: where sums and products of them make less than this, every order of exact
  // additions gives one result.
  double exact_below;
  double exact_scale;  // makes integers of them, a power of two
  // Operands are rounded or split: an infinite one meets zeros and remainders, so NaN may stand
  // where the reference is infinite.
  int splits;
};

struct Judged {
  bool ok;
  double error, bound,
      ratio;  // ratio: error / bound, 0 when ok without a distance, infinite when the class differs
};

CUPILOT_HD Judged judged_equal(bool equal, double error) {
  return Judged{equal, equal ? 0.0 : error, 0.0, equal ? 0.0 : double_of(0x7FF0000000000000ull)};
}

// Judges by a reference that is not finite: the element must be of the same class (payload and NaN
// sign ignored).
CUPILOT_HD Judged judge_class(const BoundParams& p, double got, double want) {
  if (p.splits != 0 && is_nan(got)) return judged_equal(true, 0.0);
  return judged_equal(is_nan(want) ? is_nan(got) : got == want, double_of(0x7FF0000000000000ull));
}

// True if the value is an integer that additions of integers below 2^24 or so make in any order;
// sums carry a trace above them.
CUPILOT_HD bool is_exact_integer(const BoundParams& p, double want, double sum, bool exact) {
  const double trace = sum - static_cast<double>(static_cast<long long>(sum < 0x1p62 ? sum : 0.0));
  return exact && sum < p.exact_below && trace <= 0x1p-28 * sum &&
         static_cast<double>(static_cast<long long>(want)) == want;
}

// Whole numbers beyond their type wrap around, as sums do on devices.
CUPILOT_HD double wrapped(double want, int type) {
  const bool wraps = type == storage_i32 || type == storage_i16 || type == storage_i8;
  if (!wraps || !(magnitude(want) < 0x1p53)) return want;
  const unsigned shift = 64u - 8u * static_cast<unsigned>(storage_bytes(type));
  const double near = static_cast<double>(
      static_cast<long long>(static_cast<unsigned long long>(static_cast<long long>(want))
                             << shift) >>
      shift);
  return magnitude(want) < double_of((1023ull + 63ull - shift) << 52) ? want : near;
}

// Judges an index by the distance of its value from the extreme, and the condition sum of both:
// zero where the index is the reference's. Between integers that any order makes alike, rounding
// decides nothing.
CUPILOT_HD Judged judge_gap(const BoundParams& p, double gap, double kept) {
  const double sum = magnitude(kept);
  const bool exact =
      is_exact_integer(p, mul_rn(p.exact_scale, gap), mul_rn(p.exact_scale, sum), kept < 0.0);
  if (!is_finite(gap) || sum == 0.0 || exact)
    return judged_equal(gap == 0.0 && sum == 0.0, double_of(0x7FF0000000000000ull));
  const double bound = add_rn(mul_rn(p.per_sum, sum), p.tiny);
  const bool ok = gap <= bound;
  return Judged{ok, gap, bound, bound > 0.0 ? gap / bound : double_of(0x7FF0000000000000ull)};
}

// `got`: storage bits of the element; `want`, `kept`: value and condition sum of the reference, the
// sum negative where nothing but sums and products made the value (tracked.cuh). For index_of `got`
// and `want` are the values found at the two indices, as fp64 bits and number; for check_gap `want`
// is the distance of the two, whatever `got` holds.
CUPILOT_HD Judged judge_element(const BoundParams& p, unsigned long long got_bits, double want,
                                double kept) {
  if (p.check == check_gap) return judge_gap(p, want, kept);
  if (p.check != check_index_of) want = wrapped(want, p.type);
  const double sum = magnitude(kept);
  if (p.check == check_index_of) {
    const double at = double_of(got_bits);
    return judged_equal(at == want || (is_nan(at) && is_nan(want)), magnitude(at - want));
  }
  const double got = decode(got_bits, p.type);
  if (p.check == check_bitwise) {
    const bool equal = is_float_type(p.type)
                           ? encode(want, p.type) == got_bits || (is_nan(got) && is_nan(want))
                           : got == want;
    return judged_equal(equal, magnitude(got - want));
  }
  if (!is_finite(want)) return judge_class(p, got, want);
  double bound =
      p.check == check_close
          ? add_rn(p.absolute, mul_rn(p.relative, magnitude(want)))
          : add_rn(add_rn(mul_rn(p.per_sum, sum), mul_rn(p.per_value, magnitude(want))), p.tiny);
  const bool exact = p.check == check_within && kept < 0.0;
  if (is_exact_integer(p, mul_rn(p.exact_scale, want), mul_rn(p.exact_scale, sum), exact))
    bound = mul_rn(p.per_value, magnitude(want));
  // A finite value that came through NaN: arithmetic may have kept the NaN.
  if (is_nan(kept) && is_nan(got)) return judged_equal(true, 0.0);
  if (is_nan(kept) && p.check != check_close) {
    const double within = kept_of_nan(kept), own = mul_rn(p.per_value, magnitude(want));
    bound = add_rn(is_finite(within) ? add_rn(mul_rn(p.per_sum, within), own) : own, p.tiny);
  }
  // A value that may round past the largest of the type may be its infinity, but for the largest
  // itself where it is chosen, not computed.
  const bool chosen = exact && -kept == magnitude(want) && magnitude(want) == largest_of(p.type);
  if (!chosen && !is_finite(got) && !is_nan(got) &&
      magnitude(want) + bound >= overflow_of(p.type) && (got > 0.0) == (want > 0.0)) {
    return judged_equal(true, 0.0);
  }
  const double error = magnitude(got - want);
  const bool ok = error <= bound;
  const double ratio = error == 0.0  ? 0.0
                       : bound > 0.0 ? error / bound
                                     : double_of(0x7FF0000000000000ull);
  return Judged{ok, error, bound, ok || ratio > 1.0 ? ratio : double_of(0x7FF0000000000000ull)};
}

// True if the reference is one unrounded term: nothing was added to it and the output's type holds
// it. Arithmetic of the strict class leaves exactly its bits; what a lower class loses shows.
CUPILOT_HD bool is_one_term(const BoundParams& p, double want, double kept) {
  return p.check == check_within && -kept == magnitude(want) && magnitude(want) >= 0x1p-100 &&
         is_finite(want) && decode(encode(want, p.type), p.type) == want;
}
// Relative error of such an element, infinite where it is not finite.
CUPILOT_HD double one_term_error(const BoundParams& p, unsigned long long got_bits, double want) {
  const double error = magnitude(decode(got_bits, p.type) - want) / magnitude(want);
  return is_finite(error) ? error : double_of(0x7FF0000000000000ull);
}

}  // namespace cupilot

#endif
