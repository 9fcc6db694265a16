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

// The floor of the square root; -1 for a negative number.
inline std::int64_t square_root(std::int64_t a) {
  std::int64_t root = a < 0 ? -1 : 0;
  for (std::int64_t bit = std::int64_t{1} << 31; bit > 0 && a > 0; bit >>= 1) {
    if (root + bit <= a / (root + bit)) root += bit;
  }
  return root;
}
inline Int isqrt(Int a) {
  const std::int64_t root = square_root(a.value);
  return root < 0 ? fault() : Int(root);
}

// The most different 4-byte words of one bank of 32 among `count` lanes that start at byte
// `address[lane]` and take `words` words each.
inline int deepest_bank(const std::int64_t* address, int count, int words) {
  std::int64_t held[32][32];
  int depth[32] = {}, deepest = 0;
  for (int lane = 0; lane < count; ++lane) {
    for (int w = 0; w < words; ++w) {
      const std::int64_t word = address[lane] / 4 + w;
      const int bank = static_cast<int>(word % 32);
      int at = 0;
      while (at < depth[bank] && held[bank][at] != word) ++at;
      if (at < depth[bank] || depth[bank] == 32) continue;
      held[bank][depth[bank]++] = word;
      deepest = depth[bank] > deepest ? depth[bank] : deepest;
    }
  }
  return deepest;
}

// Wavefronts of a warp's access of shared memory (docs/formats/expr.md); 0: an argument is outside
// its range.
inline std::int64_t shared_passes(std::int64_t rows, std::int64_t pitch, std::int64_t width,
                                  std::int64_t swizzle, std::int64_t step) {
  const bool power = swizzle == 0 || swizzle == 1 || swizzle == 2 || swizzle == 4 || swizzle == 8;
  if (pitch < 0 || width < 1 || width > 128 || !power || step < 0 || step > 64) return 0;
  rows = rows < 1 ? 1 : rows > 32 ? 32 : rows;
  const std::int64_t side = (32 + rows - 1) / rows, within = width > 16 ? 16 : width;
  const std::int64_t group = width <= 4 ? 32 : width <= 8 ? 16 : 8;
  const int words = within < 4 ? 1 : static_cast<int>((within + 3) / 4);
  const std::int64_t far = std::int64_t{1} << 32;  // rows further apart meet the same banks
  if (pitch > far) pitch = far + pitch % 128;
  std::int64_t passes = 0;
  for (std::int64_t piece = 0; piece < width; piece += within) {
    for (std::int64_t begin = 0; begin < 32; begin += group) {
      std::int64_t address[32];
      for (std::int64_t i = 0; i < group; ++i) {
        const std::int64_t row = (begin + i) / side, byte = (begin + i) % side * width + piece;
        const std::int64_t key = swizzle > 1 ? row * step / 8 % swizzle : 0;
        address[i] = row * pitch + (((byte / 16) ^ key) * 16 + byte % 16);
      }
      passes += deepest_bank(address, static_cast<int>(group), words);
    }
  }
  return passes;
}
inline Int passes(Int rows, Int pitch, Int width, Int swizzle, Int step) {
  const std::int64_t count =
      shared_passes(rows.value, pitch.value, width.value, swizzle.value, step.value);
  return count < 1 ? fault() : Int(count);
}
inline Int passes(Int rows, Int pitch, Int width, Int swizzle) {
  return passes(rows, pitch, width, swizzle, swizzle);
}

}  // namespace CUPILOT_RUNTIME_VERSION
}  // namespace cupilot::runtime
