// The arithmetic of launch plans, so that their expressions compile as C++ verbatim.
#pragma once

#include <cstdint>

#include <cupilot/runtime/version.hpp>

namespace cupilot::runtime {
inline namespace CUPILOT_RUNTIME_VERSION {

// True after an expression on this thread overflowed or divided by zero or with a negative operand,
// an error by docs/formats/expr.md: a kernel with unknown numbers is not launched.
inline thread_local bool expression_fault = false;

// The numbers of a launch plan's expressions.
struct Int {
  std::int64_t value = 0;
  Int() = default;
  Int(std::int64_t number) : value(number) {}  // NOLINT(google-explicit-constructor)
  Int(int number) : value(number) {}           // NOLINT(google-explicit-constructor)
  Int(bool truth) : value(truth ? 1 : 0) {}    // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return value != 0; }
};
inline Int fault() {
  expression_fault = true;
  return 0;
}
inline Int operator+(Int a, Int b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a.value, b.value, &out) ? fault() : Int(out);
}
inline Int operator-(Int a, Int b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a.value, b.value, &out) ? fault() : Int(out);
}
inline Int operator*(Int a, Int b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a.value, b.value, &out) ? fault() : Int(out);
}
inline Int operator-(Int a) { return Int(0) - a; }
inline Int operator/(Int a, Int b) {
  return a.value < 0 || b.value <= 0 ? fault() : Int(a.value / b.value);
}
inline Int operator%(Int a, Int b) {
  return a.value < 0 || b.value <= 0 ? fault() : Int(a.value % b.value);
}
inline Int operator<(Int a, Int b) { return a.value < b.value; }
inline Int operator>(Int a, Int b) { return a.value > b.value; }
inline Int operator<=(Int a, Int b) { return a.value <= b.value; }
inline Int operator>=(Int a, Int b) { return a.value >= b.value; }
inline Int operator==(Int a, Int b) { return a.value == b.value; }
inline Int operator!=(Int a, Int b) { return a.value != b.value; }
inline Int operator!(Int a) { return a.value == 0; }
inline Int min(Int a, Int b) { return a.value < b.value ? a : b; }
inline Int max(Int a, Int b) { return a.value > b.value ? a : b; }
inline Int cdiv(Int a, Int b) { return a / b + (a % b != 0); }
inline Int up(Int a, Int b) { return cdiv(a, b) * b; }
inline Int log2(Int a) {
  if (a.value < 1) return fault();
  std::int64_t bits = 0;
  while (bits < 62 && (std::int64_t{2} << bits) <= a.value) ++bits;
  return bits;
}
inline Int pow2(Int a) {
  if (a.value < 0 || a.value > (std::int64_t{1} << 62)) return fault();
  std::int64_t power = 1;
  while (power < a.value) power *= 2;
  return power;
}

}  // namespace CUPILOT_RUNTIME_VERSION
}  // namespace cupilot::runtime
