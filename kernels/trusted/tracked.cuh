// The number of a reference's third build: a value and its condition sum, the amount by which one
// unit roundoff of relative error in every operand and operation can move the value
// (docs/formats/numerics.md). And the functions a reference text may call, for every `real`. One
// text for host C++ and CUDA.
#ifndef CUPILOT_TRUSTED_TRACKED_CUH
#define CUPILOT_TRUSTED_TRACKED_CUH

#if !defined(__CUDACC__)
#include <cmath>
#endif

#include "storage.cuh"

// Share of a product of two errors that counts: 1 where a class grants large ones, 2^-13 where
// roundoff alone makes them.
#if !defined(CUPILOT_SECOND_ORDER)
#define CUPILOT_SECOND_ORDER 1.0
#endif

// 1 where the class rounds or splits operands on their way, so that an infinite one meets zeros.
#if !defined(CUPILOT_SPLITS)
#define CUPILOT_SPLITS 1
#endif

// Arithmetic in a type of this unit roundoff is granted the roundings that it makes, of the
// CUPILOT_GRANTED units of the condition sum that a bound has at most; 0: all of them are granted.
// CUPILOT_TERMS: so many terms of an output are declared.
#if !defined(CUPILOT_ROUNDOFF)
#define CUPILOT_ROUNDOFF 0.0
#define CUPILOT_GRANTED 8.0
#define CUPILOT_TERMS 1.0
#endif

// Counts roundings of arithmetic in one type: a sum of `terms`, in any order, of which none was
// rounded more than `deep` times (docs/formats/numerics.md, Arithmetic in 16 bits).
struct roundings {
  double terms, deep;
};
CUPILOT_HD double all_of(roundings a) { return a.deep + a.terms - 1.0; }
CUPILOT_HD roundings of_sum(roundings a, roundings b) {
  return roundings{a.terms + b.terms, fmax(a.deep, b.deep)};
}
// Each term of one by each of the other, as a kernel may expand a product of sums.
CUPILOT_HD roundings of_product(roundings a, roundings b) {
  return roundings{a.terms * b.terms, a.deep + b.deep + 1.0};
}
// By a reciprocal, which is rounded, too.
CUPILOT_HD roundings of_quotient(roundings a, roundings b) {
  return roundings{1.0, all_of(a) + all_of(b) + 2.0};
}
// Functions err two units of the last place; what their argument lost is in the condition sum.
CUPILOT_HD roundings of_function(roundings a) { return roundings{1.0, fmax(4.0, all_of(a))}; }
CUPILOT_HD roundings of_choice(roundings a, roundings b) {
  return roundings{fmax(a.terms, b.terms), fmax(a.deep, b.deep)};
}
// Whole numbers of up to 8 bits are numbers of each type; other constants are rounded.
CUPILOT_HD roundings of_constant(double x) {
  return roundings{1.0, floor(x) == x && fabs(x) <= 256.0 ? 0.0 : 1.0};
}
// Units of the condition sum that such arithmetic may err, its last rounding left out, which the
// output's type is granted.
CUPILOT_HD double units_of(roundings a, double roundoff) {
  const double all = all_of(a), lost = all * roundoff;
  return all < 1.0 ? 0.0 : lost < 0.5 ? (all - 1.0) / (1.0 - lost) : 2.0 * all;
}

// An element of a tensor: nothing was lost yet, so its sum need not be carried.
struct tracked_term {
  double value;
  CUPILOT_HD tracked_term(double x) : value(x) {}
};

// An infinite operand has no rounding: what becomes finite of it (exp of minus infinity) owes
// nothing to it.
CUPILOT_HD double own_sum(double x) {
  return fabs(x) <= 0x1.fffffffffffffp1023 ? fabs(x) : x != x ? x : 0.0;
}

struct tracked {
  double value, sum;
  bool exact;      // made of elements and whole numbers by sums, products and choices alone
  bool own;        // sum is own_sum(value), known where the text is compiled
  bool maybe_nan;  // an infinite product of split operands vanished in it, which may be NaN instead
  roundings rounded{1.0, 0.0};

  CUPILOT_HD tracked() : value(0.0), sum(0.0), exact(true), own(true), maybe_nan(false) {}
  CUPILOT_HD tracked(double x)
      : value(x),
        sum(own_sum(x)),
        exact(floor(x) == x),
        own(true),
        maybe_nan(false),
        rounded(of_constant(x)) {}
  CUPILOT_HD tracked(tracked_term x)
      : value(x.value), sum(own_sum(x.value)), exact(true), own(true), maybe_nan(false) {}
  CUPILOT_HD tracked(double x, double s, bool e = true, bool m = false)
      : value(x), sum(s), exact(e), own(false), maybe_nan(m) {}
  CUPILOT_HD tracked after(roundings r) const {
    tracked out = *this;
    out.rounded = r;
    return out;
  }
};

CUPILOT_HD bool is_infinite(double x) { return own_sum(x) == 0.0 && x != 0.0; }
CUPILOT_HD bool is_infinite(tracked x) { return is_infinite(x.value); }
// An infinite product, whose operands may have been split: elements and functions have infinities
// of no sum. True of what came of one, too.
CUPILOT_HD bool may_be_nan(tracked x) {
  return CUPILOT_SPLITS != 0 && (x.maybe_nan || (is_infinite(x) && x.sum - x.sum != 0.0));
}

// Two terms make the sum exceed the magnitude by a trace: sum == |value| says that a value is one
// term, unrounded.
CUPILOT_HD double both(double a, double b) { return a + b + 0x1p-30 * fmin(a, b); }

CUPILOT_HD tracked operator+(tracked a, tracked b) {
  return tracked(a.value + b.value, both(a.sum, b.sum), a.exact && b.exact,
                 a.maybe_nan || b.maybe_nan)
      .after(of_sum(a.rounded, b.rounded));
}
CUPILOT_HD tracked operator-(tracked a, tracked b) {
  return tracked(a.value - b.value, both(a.sum, b.sum), a.exact && b.exact,
                 a.maybe_nan || b.maybe_nan)
      .after(of_sum(a.rounded, b.rounded));
}
CUPILOT_HD tracked operator-(tracked a) {
  return tracked(-a.value, a.sum, a.exact, a.maybe_nan).after(a.rounded);
}
CUPILOT_HD tracked operator*(tracked_term a, tracked_term b) {
  const double value = a.value * b.value;
  return tracked(value, fabs(value)).after(of_product({1.0, 0.0}, {1.0, 0.0}));
}
// Part of a sum beyond the operand's own rounding; NaN stays.
CUPILOT_HD double beyond_own(tracked x) {
  return x.sum < fabs(x.value) ? 0.0 : x.sum - fabs(x.value);
}
// A sum beyond any number is the most that still adds up, where the value is one: infinity times an
// exact zero would make it NaN, which says that the value came through NaN.
CUPILOT_HD double finite_sum(double value, double sum) {
  return sum > 0x1p1000 && own_sum(value) == fabs(value) ? fmax(fabs(value), 0x1p1000) : sum;
}
// The product of two operands that carry their own rounding alone, in few operations, bit by bit as
// the general one where finite operands have a finite product: most terms of most sums are such.
CUPILOT_HD tracked product_of_own(double a, double b, bool exact) {
  const double value = a * b;
  if (CUPILOT_SPLITS == 0) {
    tracked product(value, own_sum(value), exact);
    product.own = true;
    return product;
  }
  return tracked(value, fabs(value) + 0.0 * value, exact);
}
// |d(ab)| <= |a| |db| + |da| |b| + |da| |db|, each operand's own rounding counted once. An
// infinity moves by no rounding, but where operands are rounded or split NaN may come of it.
CUPILOT_HD tracked operator*(tracked a, tracked b) {
  const roundings rounded = of_product(a.rounded, b.rounded);
  if (a.own && b.own) return product_of_own(a.value, b.value, a.exact && b.exact).after(rounded);
  const double value = a.value * b.value;
  if (CUPILOT_SPLITS == 0 && is_infinite(value))
    return tracked(value, 0.0, a.exact && b.exact).after(rounded);
  const double more_a = beyond_own(a), more_b = beyond_own(b);
  const double carried = fabs(a.value) * more_b + more_a * fabs(b.value);
  const double sum = fabs(value) + (carried + CUPILOT_SECOND_ORDER * more_a * more_b);
  return tracked(value, finite_sum(value, sum), a.exact && b.exact, a.maybe_nan || b.maybe_nan)
      .after(rounded);
}
// |d(a/b)| <= |da| / |b| + |a| |db| / b^2. An infinite divisor has no rounding.
CUPILOT_HD tracked operator/(tracked a, tracked b) {
  const roundings rounded = of_quotient(a.rounded, b.rounded);
  if (is_infinite(b)) {
    const double none = a.value / b.value;
    return tracked(none, own_sum(none), false, a.maybe_nan || may_be_nan(b)).after(rounded);
  }
  const double inverse = 1.0 / fabs(b.value), value = a.value / b.value;
  if (b.value == 0.0 && value == value)
    return tracked(value, 0.0, false, may_be_nan(a) || b.maybe_nan).after(rounded);
  const double sum = a.sum * inverse + fabs(a.value) * inverse * (b.sum * inverse);
  return tracked(value, finite_sum(value, sum), false, a.maybe_nan || b.maybe_nan).after(rounded);
}
CUPILOT_HD tracked& operator+=(tracked& a, tracked b) { return a = a + b; }
CUPILOT_HD tracked& operator-=(tracked& a, tracked b) { return a = a - b; }
CUPILOT_HD tracked& operator*=(tracked& a, tracked b) { return a = a * b; }
CUPILOT_HD tracked& operator/=(tracked& a, tracked b) { return a = a / b; }
CUPILOT_HD bool operator<(tracked a, tracked b) { return a.value < b.value; }
CUPILOT_HD bool operator>(tracked a, tracked b) { return a.value > b.value; }
CUPILOT_HD bool operator<=(tracked a, tracked b) { return a.value <= b.value; }
CUPILOT_HD bool operator>=(tracked a, tracked b) { return a.value >= b.value; }
CUPILOT_HD bool operator==(tracked a, tracked b) { return a.value == b.value; }
CUPILOT_HD bool operator!=(tracked a, tracked b) { return a.value != b.value; }

// f(x) with derivative: the argument's sum is carried by |f'|, the function adds its own rounding.
// Where f is flat at an infinity, its value owes nothing to it; an infinite one owes nothing.
CUPILOT_HD tracked through(double value, double derivative, tracked x) {
  const roundings rounded = of_function(x.rounded);
  if (is_infinite(value)) return tracked(value, 0.0, false, may_be_nan(x)).after(rounded);
  const bool flat = x.sum == 0.0 || (derivative == 0.0 && (x.sum > 0.0 || is_infinite(x)));
  const double carried = flat ? 0.0 : fabs(derivative) * x.sum;
  return tracked(value, finite_sum(value, fabs(value) + carried), false, may_be_nan(x))
      .after(rounded);
}

CUPILOT_HD double exp_(double x) { return exp(x); }
CUPILOT_HD double log_(double x) { return log(x); }
CUPILOT_HD double tanh_(double x) { return tanh(x); }
CUPILOT_HD double erf_(double x) { return erf(x); }
CUPILOT_HD double sqrt_(double x) { return sqrt(x); }
CUPILOT_HD double abs_(double x) { return fabs(x); }
CUPILOT_HD double max_(double a, double b) { return fmax(a, b); }
CUPILOT_HD double min_(double a, double b) { return fmin(a, b); }

CUPILOT_HD float exp_(float x) { return expf(x); }
CUPILOT_HD float log_(float x) { return logf(x); }
CUPILOT_HD float tanh_(float x) { return tanhf(x); }
CUPILOT_HD float erf_(float x) { return erff(x); }
CUPILOT_HD float sqrt_(float x) { return sqrtf(x); }
CUPILOT_HD float abs_(float x) { return fabsf(x); }
CUPILOT_HD float max_(float a, float b) { return fmaxf(a, b); }
CUPILOT_HD float min_(float a, float b) { return fminf(a, b); }

CUPILOT_HD tracked exp_(tracked x) { return through(exp(x.value), exp(x.value), x); }
CUPILOT_HD tracked log_(tracked x) { return through(log(x.value), 1.0 / x.value, x); }
// Secants of a curve that is steep at 0 alone reach to its other side where an argument may err so
// far, in classes that grant large errors: a tanh of 3 is flat, but the sum of thousands that the
// 3 came of may be -1 instead. 0: a slope says enough. 2^-8: the largest unit of such a class.
CUPILOT_HD double reach_of(tracked x) {
  const double far = CUPILOT_SECOND_ORDER < 1.0 || is_infinite(x) ? 0.0 : 0x1p-8 * x.sum;
  return far > 0.125 ? fmin(far, fabs(x.value) + 1.0) : 0.0;
}
// The steepest of a slope and of the secants to both sides, `far` long.
CUPILOT_HD double steepest(double slope, double far, double value, double up, double down) {
  return fmax(slope, fmax(fabs(up - value), fabs(down - value)) / far);
}

CUPILOT_HD tracked tanh_(tracked x) {
  const double value = tanh(x.value), far = reach_of(x);
  double slope = 1.0 - value * value;
  if (far > 0.0) slope = steepest(slope, far, value, tanh(x.value + far), tanh(x.value - far));
  return through(value, slope, x);
}
CUPILOT_HD tracked erf_(tracked x) {
  const double value = erf(x.value), far = reach_of(x);
  double slope = 1.1283791670955126 * exp(-x.value * x.value);
  if (far > 0.0) slope = steepest(slope, far, value, erf(x.value + far), erf(x.value - far));
  return through(value, slope, x);
}
// At zero the derivative has no bound, but the root of the error has.
CUPILOT_HD tracked sqrt_(tracked x) {
  if (x.value == 0.0)
    return tracked(0.0, sqrt(x.sum), false, x.maybe_nan).after(of_function(x.rounded));
  return through(sqrt(x.value), 0.5 / sqrt(x.value), x);
}
CUPILOT_HD tracked abs_(tracked x) {
  return tracked(fabs(x.value), x.sum, x.exact, x.maybe_nan).after(x.rounded);
}
// Either may be the choice; one that is infinite, by whatever arithmetic, moves by no rounding. Nor
// does one that is far larger and far off, as the lowest number that a search for the largest
// begins with.
CUPILOT_HD bool beyond_choice(tracked one, tracked other) {
  return one.sum > 1024.0 * other.sum &&
         fabs(one.value - other.value) > 0.5 * (one.sum + other.sum);
}
CUPILOT_HD double sum_of_choice(tracked a, tracked b, double chosen) {
  constexpr double trace = 1e-300;  // a choice of zero is no term that must be kept bit by bit
  if (chosen == a.value && beyond_choice(b, a)) return a.sum + trace;
  if (chosen == b.value && beyond_choice(a, b)) return b.sum + trace;
  const double of_a = is_infinite(a) ? 0.0 : a.sum;
  const double of_b = is_infinite(b) ? 0.0 : b.sum;
  return fmax(of_a, of_b);
}
CUPILOT_HD tracked max_(tracked a, tracked b) {
  const double value = fmax(a.value, b.value);
  return tracked(value, sum_of_choice(a, b, value), a.exact && b.exact, a.maybe_nan || b.maybe_nan)
      .after(of_choice(a.rounded, b.rounded));
}
CUPILOT_HD tracked min_(tracked a, tracked b) {
  const double value = fmin(a.value, b.value);
  return tracked(value, sum_of_choice(a, b, value), a.exact && b.exact, a.maybe_nan || b.maybe_nan)
      .after(of_choice(a.rounded, b.rounded));
}

CUPILOT_HD double maxn_(double a, double b) { return a != a ? a : b != b ? b : fmax(a, b); }
CUPILOT_HD double minn_(double a, double b) { return a != a ? a : b != b ? b : fmin(a, b); }
CUPILOT_HD float maxn_(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }
CUPILOT_HD float minn_(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }
CUPILOT_HD tracked maxn_(tracked a, tracked b) {
  const double value = maxn_(a.value, b.value);
  return tracked(value, sum_of_choice(a, b, value), a.exact && b.exact,
                 may_be_nan(a) || may_be_nan(b))
      .after(of_choice(a.rounded, b.rounded));
}
CUPILOT_HD tracked minn_(tracked a, tracked b) {
  const double value = minn_(a.value, b.value);
  return tracked(value, sum_of_choice(a, b, value), a.exact && b.exact,
                 may_be_nan(a) || may_be_nan(b))
      .after(of_choice(a.rounded, b.rounded));
}
CUPILOT_HD bool isnan_(double x) { return x != x; }
CUPILOT_HD bool isnan_(float x) { return x != x; }
CUPILOT_HD bool isnan_(tracked x) { return x.value != x.value; }

// Steps: a choice of whole numbers, which owes nothing to its argument but where it jumps.
CUPILOT_HD double floor_(double x) { return floor(x); }
CUPILOT_HD float floor_(float x) { return floorf(x); }
CUPILOT_HD tracked floor_(tracked x) { return tracked(floor(x.value)); }
CUPILOT_HD double ceil_(double x) { return ceil(x); }
CUPILOT_HD float ceil_(float x) { return ceilf(x); }
CUPILOT_HD tracked ceil_(tracked x) { return tracked(ceil(x.value)); }
CUPILOT_HD double rint_(double x) { return rint(x); }
CUPILOT_HD float rint_(float x) { return rintf(x); }
CUPILOT_HD tracked rint_(tracked x) { return tracked(rint(x.value)); }
CUPILOT_HD double trunc_(double x) { return trunc(x); }
CUPILOT_HD float trunc_(float x) { return truncf(x); }
CUPILOT_HD tracked trunc_(tracked x) { return tracked(trunc(x.value)); }
CUPILOT_HD double sign_(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }
CUPILOT_HD float sign_(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
CUPILOT_HD tracked sign_(tracked x) {
  const tracked whole(sign_(x.value));
  return tracked(whole.value, whole.sum, whole.exact, may_be_nan(x));
}

// name_ of double, float and tracked: `derivative` at x.value, with `value` the function's own.
#define CUPILOT_FUNCTION(name, of_double, of_float, derivative) \
  CUPILOT_HD double name(double x) { return of_double(x); }     \
  CUPILOT_HD float name(float x) { return of_float(x); }        \
  CUPILOT_HD tracked name(tracked at) {                         \
    const double x = at.value;                                  \
    const double value = of_double(x);                          \
    return through(value, derivative, at);                      \
  }
CUPILOT_FUNCTION(sin_, sin, sinf, cos(x))
CUPILOT_FUNCTION(cos_, cos, cosf, -sin(x))
CUPILOT_FUNCTION(tan_, tan, tanf, 1.0 + value * value)
CUPILOT_FUNCTION(asin_, asin, asinf, 1.0 / sqrt(1.0 - x * x))
CUPILOT_FUNCTION(acos_, acos, acosf, -1.0 / sqrt(1.0 - x * x))
CUPILOT_FUNCTION(atan_, atan, atanf, 1.0 / (1.0 + x * x))
CUPILOT_FUNCTION(sinh_, sinh, sinhf, cosh(x))
CUPILOT_FUNCTION(cosh_, cosh, coshf, sinh(x))
CUPILOT_FUNCTION(asinh_, asinh, asinhf, 1.0 / sqrt(x * x + 1.0))
CUPILOT_FUNCTION(acosh_, acosh, acoshf, 1.0 / sqrt(x * x - 1.0))
CUPILOT_FUNCTION(atanh_, atanh, atanhf, 1.0 / (1.0 - x * x))
CUPILOT_FUNCTION(erfc_, erfc, erfcf, -1.1283791670955126 * exp(-x * x))
CUPILOT_FUNCTION(exp2_, exp2, exp2f, 0.6931471805599453 * value)
CUPILOT_FUNCTION(expm1_, expm1, expm1f, value + 1.0)
CUPILOT_FUNCTION(log2_, log2, log2f, 1.4426950408889634 / x)
CUPILOT_FUNCTION(log10_, log10, log10f, 0.4342944819032518 / x)
CUPILOT_FUNCTION(log1p_, log1p, log1pf, 1.0 / (1.0 + x))
#undef CUPILOT_FUNCTION

CUPILOT_HD double rsqrt_(double x) { return 1.0 / sqrt(x); }
CUPILOT_HD float rsqrt_(float x) { return 1.0f / sqrtf(x); }
CUPILOT_HD tracked rsqrt_(tracked x) {
  const double value = 1.0 / sqrt(x.value);
  return through(value, -0.5 * value / x.value, x);
}

// |d(a^b)| <= |b a^(b-1)| |da| + |a^b log a| |db|; a constant whole exponent owes nothing.
CUPILOT_HD double pow_(double a, double b) { return pow(a, b); }
CUPILOT_HD float pow_(float a, float b) { return powf(a, b); }
CUPILOT_HD tracked pow_(tracked a, tracked b) {
  const double value = pow(a.value, b.value);
  const double by_base = b.value == 0.0 ? 0.0 : fabs(b.value * pow(a.value, b.value - 1.0)) * a.sum;
  const double by_exponent =
      a.value > 0.0 && beyond_own(b) > 0.0 ? fabs(value * log(a.value)) * beyond_own(b) : 0.0;
  const double carried = by_base == by_base ? by_base : 0.0;
  const bool nan = may_be_nan(a) || may_be_nan(b);
  const roundings rounded = of_function(of_quotient(a.rounded, b.rounded));
  if (is_infinite(value)) return tracked(value, 0.0, false, nan).after(rounded);
  return tracked(value, fabs(value) + carried + by_exponent, false, nan).after(rounded);
}

// d fmod(a, b) = da - trunc(a/b) db.
CUPILOT_HD double fmod_(double a, double b) { return fmod(a, b); }
CUPILOT_HD float fmod_(float a, float b) { return fmodf(a, b); }
CUPILOT_HD tracked fmod_(tracked a, tracked b) {
  const double carried = fabs(trunc(a.value / b.value)) * b.sum;
  return tracked(fmod(a.value, b.value), a.sum + (carried == carried ? carried : 0.0), false,
                 may_be_nan(a) || may_be_nan(b))
      .after(of_quotient(a.rounded, b.rounded));
}
CUPILOT_HD double atan2_(double a, double b) { return atan2(a, b); }
CUPILOT_HD float atan2_(float a, float b) { return atan2f(a, b); }
CUPILOT_HD tracked atan2_(tracked a, tracked b) {
  const double value = atan2(a.value, b.value);
  const double square = a.value * a.value + b.value * b.value;
  const double carried = (fabs(b.value) * a.sum + fabs(a.value) * b.sum) / square;
  return tracked(value, fabs(value) + (carried == carried ? carried : 0.0), false,
                 may_be_nan(a) || may_be_nan(b))
      .after(of_function(of_quotient(a.rounded, b.rounded)));
}

CUPILOT_HD double copysign_(double a, double b) { return copysign(a, b); }
CUPILOT_HD float copysign_(float a, float b) { return copysignf(a, b); }
CUPILOT_HD tracked copysign_(tracked a, tracked b) {
  return tracked(copysign(a.value, b.value), a.sum, a.exact, a.maybe_nan || may_be_nan(b))
      .after(a.rounded);
}

// The first of two values where a condition holds, else the second; either may be an element.
CUPILOT_HD double select_(bool first, double a, double b) { return first ? a : b; }
CUPILOT_HD float select_(bool first, float a, float b) { return first ? a : b; }
CUPILOT_HD tracked select_(bool first, tracked a, tracked b) { return first ? a : b; }
// The bits of a value as fp32, 0 to 2^32 - 1, those of a NaN 0x7FC00000; and the number that has
// given ones. A step, as floor_ is.
CUPILOT_HD long long bits_(double x) {
  return static_cast<long long>(cupilot::encode(x, cupilot::storage_f32));
}
CUPILOT_HD long long bits_(float x) { return bits_(static_cast<double>(x)); }
CUPILOT_HD long long bits_(tracked x) { return bits_(x.value); }
CUPILOT_HD double from_bits_(long long bits) {
  return cupilot::float_of(static_cast<unsigned int>(bits));
}

CUPILOT_HD double infinity_() { return cupilot::double_of(0x7FF0000000000000ull); }
CUPILOT_HD double nan_() { return cupilot::double_of(0x7FF8000000000000ull); }
// A value as a coordinate.
CUPILOT_HD long long place_(long long x) { return x; }
CUPILOT_HD long long place_(double x) { return static_cast<long long>(x); }
CUPILOT_HD long long place_(float x) { return static_cast<long long>(x); }
CUPILOT_HD long long place_(tracked x) { return static_cast<long long>(x.value); }

CUPILOT_HD double value_of(double x) { return x; }
CUPILOT_HD double value_of(float x) { return x; }
CUPILOT_HD double value_of(tracked x) { return x.value; }
// The distance of two values that a choice of an extreme compared, with the condition sum of what
// arithmetic may have moved between them; infinite where no rounding exchanges them: `inside` says
// that the second exists, and what holds both without rounding is compared as it is.
CUPILOT_HD double apart_(double a, double b, bool inside) {
  return inside ? fabs(a - b) : infinity_();
}
CUPILOT_HD float apart_(float a, float b, bool inside) {
  return inside ? fabsf(a - b) : static_cast<float>(infinity_());
}
CUPILOT_HD bool is_unrounded(tracked x) {
  constexpr double trace = 1e-290;  // above that of a choice of zero
  return CUPILOT_SECOND_ORDER < 1.0 && x.exact && x.sum <= fabs(x.value) + trace &&
         static_cast<double>(static_cast<float>(x.value)) == x.value;
}
CUPILOT_HD tracked apart_(tracked a, tracked b, bool inside) {
  const double sum = (is_unrounded(a) ? 0.0 : a.sum) + (is_unrounded(b) ? 0.0 : b.sum);
  if (!inside || !(sum > 0.0)) return tracked(infinity_(), 0.0);
  return tracked(fabs(a.value - b.value), sum, a.exact && b.exact, a.maybe_nan || b.maybe_nan);
}

// One number a value is what the oracle hands on: negative where the value is exact, and within
// a NaN where NaN may stand for it.
CUPILOT_HD double sum_of(tracked x) {
  if (CUPILOT_ROUNDOFF > 0.0) {
    x.rounded.terms = fmax(x.rounded.terms, CUPILOT_TERMS);
    x.sum *= fmin(1.0, units_of(x.rounded, CUPILOT_ROUNDOFF) / CUPILOT_GRANTED);
  }
  return x.maybe_nan ? cupilot::kept_in_nan(x.sum) : x.exact ? -x.sum : x.sum;
}

#endif
