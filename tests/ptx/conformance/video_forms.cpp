// The packed video instructions: two halves or four bytes of a register, kept apart or added to a
// third operand.
#include <algorithm>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

enum Operation { plus, minus, difference, average, lesser, greater, compare };
struct Row {
  const char* name;
  Operation operation;
};
constexpr Row rows[] = {{"vadd", plus},     {"vsub", minus},  {"vabsdiff", difference},
                        {"vavrg", average}, {"vmin", lesser}, {"vmax", greater}};
constexpr const char* comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};

s128 operate(int operation, int comparison, s128 a, s128 b) {
  switch (operation) {
    case plus:
      return a + b;
    case minus:
      return a - b;
    case difference:
      return a > b ? a - b : b - a;
    case average:  // rounded away from zero
      return a + b >= 0 ? (a + b + 1) / 2 : -((-(a + b) + 1) / 2);
    case lesser:
      return std::min(a, b);
    case greater:
      return std::max(a, b);
    default: {
      const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
      return holds[comparison] ? 1 : 0;
    }
  }
}

// number: operation, comparison << 8, "adds up" << 16. from_bits: 1 for a signed result, 2 for b.
Pair video(const Form& f, V v) {
  const int parts = 32 / f.bits;
  u64 merged = 0;
  s128 total = static_cast<s128>(v[2]);
  const bool signed_result = (f.from_bits & 1) != 0;
  for (int i = 0; i < parts; ++i) {
    const s128 a = extended(v[0] >> (f.bits * i), f.bits, f.is_signed),
               b = extended(v[1] >> (f.bits * i), f.bits, f.from_signed);
    s128 r = operate(f.number & 255, (f.number >> 8) & 255, a, b);
    const s128 least = signed_result ? -(s128{1} << (f.bits - 1)) : 0,
               most = (s128{1} << (f.bits - (signed_result ? 1 : 0))) - 1;
    if (f.sat) r = std::clamp(r, least, most);
    total += r;
    merged |= (static_cast<u64>(r) & low_bits(f.bits)) << (f.bits * i);
  }
  return {(f.number >> 16) != 0 ? static_cast<u64>(total) & low_bits(32) : merged};
}

std::string type_name(bool is_signed) { return is_signed ? ".s32" : ".u32"; }

Form made(const std::string& text, int bits, int number, int signs) {
  return {.text = text,
          .results = "i",
          .arguments = "iii",
          .run = video,
          .bits = bits,
          .from_bits = signs & 1,
          .is_signed = (signs & 2) != 0,
          .from_signed = (signs & 4) != 0,
          .sat = text.find(".sat") != std::string::npos,
          .number = number};
}

}  // namespace

void add_video_forms(std::vector<Form>& out) {
  for (const int bits : {16, 8}) {
    const std::string size = bits == 16 ? "2" : "4";
    for (int signs = 0; signs < 8; ++signs) {
      const std::string types =
          type_name((signs & 1) != 0) + type_name((signs & 2) != 0) + type_name((signs & 4) != 0);
      for (const Row& row : rows) {
        const std::string text = row.name + size + types;
        out.push_back(made(text, bits, row.operation, signs));
        out.push_back(made(text + ".sat", bits, row.operation, signs));
        out.push_back(made(text + ".add", bits, row.operation | (1 << 16), signs));
      }
    }
    for (int signs = 0; signs < 8; signs += 2) {
      for (int c = 0; c < 6; ++c) {
        const std::string text = "vset" + size + type_name((signs & 2) != 0) +
                                 type_name((signs & 4) != 0) + "." + comparisons[c];
        out.push_back(made(text, bits, compare | (c << 8), signs));
        out.push_back(made(text + ".add", bits, compare | (c << 8) | (1 << 16), signs));
      }
    }
  }
}

}  // namespace conformance
