// Operands of the tensor-core forms.
#include <algorithm>
#include <cstring>

#include "ptx/machine/tensor_forms.hpp"

namespace support {
namespace {

using u64 = std::uint64_t;
using E = Element;

// splitmix64
u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

struct Shape {
  int bits, fraction;
};
Shape shape_of(Element e) {
  switch (e) {
    case E::f16:
      return {16, 10};
    case E::bf16:
      return {16, 7};
    case E::e4m3:
      return {8, 3};
    case E::e5m2:
      return {8, 2};
    case E::tf32:
    case E::f32:
      return {32, 23};
    case E::f64:
      return {64, 52};
    default:
      return {32, 0};
  }
}

// Modes: 0 any bits, 1 near one, 2 wide exponents, 3 few significant bits (sums cancel), 4
// subnormals, 5 powers of two, 6 zeros and infinities among others, 7 products near the least fp32.
u64 element(Element e, int mode, u64 h) {
  const auto [bits, fraction] = shape_of(e);
  const u64 all = bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  const u64 top = (u64{1} << (bits - 1 - fraction)) - 1;
  const auto bias = static_cast<std::int64_t>(top >> 1);
  u64 f = mixed(h) & ((u64{1} << fraction) - 1);
  const u64 sign = (h >> 63) << (bits - 1);
  std::int64_t exponent = bias;
  switch (mode) {
    case 0:
      return mixed(h) & all;
    case 1:
      exponent = bias - static_cast<std::int64_t>(h % 5);
      break;
    case 2:
      exponent = bias + static_cast<std::int64_t>(h % 25) - 12;
      break;
    case 3:
      exponent = bias - static_cast<std::int64_t>(h % 2);
      f &= ~((u64{1} << (fraction > 2 ? fraction - 2 : 0)) - 1);
      break;
    case 4:
      exponent = h % 4 == 0 ? 1 : 0;
      break;
    case 5:
      exponent = bias + static_cast<std::int64_t>(h % 29) - 14;
      f = h % 11 == 0 ? f : 0;
      break;
    case 6:
      if (h % 61 == 0) return sign | (top << fraction);
      if (h % 127 == 0) return sign | (top << fraction) | f;
      if (h % 5 == 0) return sign;
      exponent = bias - static_cast<std::int64_t>(h % 3);
      break;
    default:
      exponent = bias / 2 - static_cast<std::int64_t>(h % 16);
      break;
  }
  exponent = std::clamp<std::int64_t>(exponent, 0,
                                      static_cast<std::int64_t>(e == E::e4m3 ? top : top - 1));
  return sign | (static_cast<u64>(exponent) << fraction) | f;
}

u64 metadata(Element e, u64 h) {
  u64 out = 0;
  constexpr u64 pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  for (int i = 0; i < 8; ++i) {
    h = mixed(h);
    out |= (e == E::one_of_two ? (h % 2 != 0 ? 0x4u : 0xeu) : pairs[h % 6]) << (4 * i);
  }
  return out;
}

std::vector<std::uint8_t> draw(Element e, int mode_shift, std::size_t words_a_trial, int width,
                               int trials, u64 seed) {
  const std::size_t bytes = words_a_trial * static_cast<std::size_t>(width);
  std::vector<std::uint8_t> out(bytes * static_cast<std::size_t>(trials));
  const std::size_t step =
      e >= E::pairs_of_four || e == E::raw ? 4 : static_cast<std::size_t>(shape_of(e).bits) / 8;
  for (int t = 0; t < trials; ++t) {
    for (std::size_t at = 0; at < bytes; at += step) {
      const u64 h = mixed(seed ^ mixed((static_cast<u64>(t) << 32) | at));
      const int mode = (t >> mode_shift) & 7;
      const u64 v = e == E::raw             ? (mode == 1 && mode_shift == 3   ? 0x7fffffffu - h % 4096
                                               : mode == 2 && mode_shift == 3 ? 0x80000000u + h % 4096
                                                                              : h)
                    : e >= E::pairs_of_four ? metadata(e, h)
                                            : element(e, mode, h);
      std::memcpy(out.data() + static_cast<std::size_t>(t) * bytes + at, &v, step);
    }
  }
  return out;
}

}  // namespace

TensorOperands operands_of(const TensorForm& f, int trials, std::uint64_t seed) {
  TensorOperands out;
  const auto threads = static_cast<std::size_t>(f.threads());
  const bool group = f.kind == TensorForm::group_registers || f.kind == TensorForm::group_shared;
  // The modes of A and B go together, those of C run through all of them.
  const auto words = [&](int n) { return static_cast<std::size_t>(n) * threads; };
  out.a = draw(f.in_a, 0, words(f.a), f.width, trials, seed + 1);
  out.b = draw(f.in_b, 0, group ? 64 : words(f.b), f.width, trials, seed + 2);
  out.c = draw(f.in_c, 3, words(f.c), f.width, trials, seed + 3);
  out.e =
      draw(f.in_a == E::tf32 ? E::one_of_two : E::pairs_of_four, 0, words(1), 4, trials, seed + 4);
  out.d_bytes = words(f.d) * static_cast<std::size_t>(f.width) * static_cast<std::size_t>(trials);
  if (f.kind != TensorForm::scalar) return out;
  // Every 16-bit pattern once, or edge values of the shifts and counts that b and c give.
  for (std::size_t i = 0; i < out.a.size() / 4; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    const std::uint32_t v = f.tail == "half" ? n & 0xffff : (n & 0xffff) | ((n ^ 0x5a5a) << 16);
    if (f.text.rfind("cvt", 0) == 0 && f.in_a == E::raw) std::memcpy(out.a.data() + 4 * i, &v, 4);
  }
  const auto narrow = [&](std::vector<std::uint8_t>& from, std::uint32_t mask) {
    for (std::size_t i = 0; i + 4 <= from.size(); i += 8) {
      std::uint32_t v = 0;
      std::memcpy(&v, from.data() + i, 4);
      v = (v & mask) - ((v & 0x10000u) != 0 ? mask / 2 : 0);
      std::memcpy(from.data() + i, &v, 4);
    }
  };
  if (f.text.rfind("fns", 0) == 0 || f.text.rfind("bmsk", 0) == 0 ||
      f.text.rfind("szext", 0) == 0) {
    narrow(out.b, 63);
    narrow(out.c, 31);
    if (f.text.rfind("bmsk", 0) == 0) narrow(out.a, 63);
  }
  return out;
}

}  // namespace support
