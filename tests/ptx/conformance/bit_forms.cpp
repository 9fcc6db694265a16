// Logic, shifts, fields, permutations and moves, bit by bit.
#include <algorithm>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

Pair cut(const Form& f, u64 v) { return {v & low_bits(f.bits)}; }
u64 bit(u64 v, int i) { return i < 0 || i > 63 ? 0 : (v >> i) & 1; }

// Builds a register from what each of its bits is.
template <class F>
Pair by_bit(const Form& f, F value) {
  u64 r = 0;
  for (int i = 0; i < f.bits; ++i) r |= u64{value(i) & 1} << i;
  return {r};
}

Pair both(const Form& f, V v) { return cut(f, v[0] & v[1]); }
Pair either(const Form& f, V v) { return cut(f, v[0] | v[1]); }
Pair differ(const Form& f, V v) { return cut(f, v[0] ^ v[1]); }
Pair inverse(const Form& f, V v) { return cut(f, ~v[0]); }
Pair none(const Form&, V v) { return {v[0] == 0 ? u64{1} : 0}; }
Pair copied(const Form&, V v) { return {v[0]}; }

int amount(const Form& f, u64 n) {
  return static_cast<int>(std::min<u64>(n, static_cast<u64>(f.bits)));
}
Pair left(const Form& f, V v) {
  const int n = amount(f, v[1]);
  return by_bit(f, [&](int i) { return bit(v[0], i - n); });
}
Pair right(const Form& f, V v) {
  const int n = amount(f, v[1]);
  const u64 fill = f.is_signed ? bit(v[0], f.bits - 1) : 0;
  return by_bit(f, [&](int i) { return i + n < f.bits ? bit(v[0], i + n) : fill; });
}
// number: 1 to the left, 2 wrapping
Pair funnel(const Form& f, V v) {
  const u64 both_words = (v[1] << 32) | v[0];
  const int n = static_cast<int>((f.number & 2) != 0 ? v[2] & 31 : std::min<u64>(v[2], 32));
  const int from = (f.number & 1) != 0 ? 32 - n : n;
  return by_bit(f, [&](int i) { return bit(both_words, from + i); });
}
// A position or a length. The 32-bit forms look at its low byte.
int field(const Form& f, u64 v) {
  return static_cast<int>(f.bits == 32 ? v & 255 : std::min<u64>(v, 256));
}
Pair extract(const Form& f, V v) {
  const int at = field(f, v[1]), length = field(f, v[2]);
  const int top = std::min(at + length - 1, f.bits - 1);
  const u64 fill = f.is_signed && length > 0 ? bit(v[0], top) : 0;
  return by_bit(f, [&](int i) { return i < length && at + i < f.bits ? bit(v[0], at + i) : fill; });
}
Pair insert(const Form& f, V v) {
  const int at = field(f, v[2]), length = field(f, v[3]);
  return by_bit(
      f, [&](int i) { return i >= at && i < at + length ? bit(v[0], i - at) : bit(v[1], i); });
}
Pair reversed(const Form& f, V v) {
  return by_bit(f, [&](int i) { return bit(v[0], f.bits - 1 - i); });
}
Pair population(const Form& f, V v) {
  u64 r = 0;
  for (int i = 0; i < f.bits; ++i) r += bit(v[0], i);
  return {r};
}
int highest(u64 v) {
  for (int i = 63; i >= 0; --i) {
    if (bit(v, i) != 0) return i;
  }
  return -1;
}
Pair leading(const Form& f, V v) { return {static_cast<u64>(f.bits - 1 - highest(v[0]))}; }
// number: 1 for the distance from the top
Pair find(const Form& f, V v) {
  const bool negative = f.is_signed && bit(v[0], f.bits - 1) != 0;
  const int at = highest(negative ? ~v[0] & low_bits(f.bits) : v[0]);
  return {at < 0 ? 0xffffffffu : static_cast<u64>(f.number != 0 ? f.bits - 1 - at : at)};
}
Pair find_set(const Form&, V v) {
  const int base = static_cast<int>(std::min<u64>(v[1], 32)), offset = static_cast<int>(v[2]);
  if (v[2] == 0x80000000u) return {0};
  if (base > 31) return {0xffffffffu};
  if (offset == 0) return {bit(v[0], base) != 0 ? static_cast<u64>(base) : 0xffffffffu};
  u64 left_over = offset > 0 ? static_cast<u64>(offset) : 0 - static_cast<u64>(s64{offset});
  for (int i = base; i >= 0 && i<32; i += offset> 0 ? 1 : -1) {
    if (bit(v[0], i) != 0 && --left_over == 0) return {static_cast<u64>(i)};
  }
  return {0xffffffffu};
}
// number: 1 wrapping
Pair mask(const Form& f, V v) {
  const int at = static_cast<int>(f.number != 0 ? v[0] & 31 : std::min<u64>(v[0], 32));
  const int length = static_cast<int>(f.number != 0 ? v[1] & 31 : std::min<u64>(v[1], 32));
  return by_bit(f, [&](int i) { return u64{i >= at && i < at + length}; });
}
Pair extend(const Form& f, V v) {
  const int length = static_cast<int>(f.number != 0 ? v[1] & 31 : std::min<u64>(v[1], 32));
  const u64 fill = f.is_signed && length > 0 ? bit(v[0], length - 1) : 0;
  return by_bit(f, [&](int i) { return i < length ? bit(v[0], i) : fill; });
}
// number: the mode, see modes
Pair permute(const Form& f, V v) {
  const u64 bytes = (v[1] << 32) | v[0];
  const int n = static_cast<int>(v[2] & 3);
  u64 r = 0;
  for (int i = 0; i < 4; ++i) {
    const int nibble = static_cast<int>((v[2] >> (4 * i)) & 15);
    const int picks[] = {nibble & 7,     n + i,          (n - i) & 7,          n,
                         std::max(i, n), std::min(i, n), (n & 1) * 2 + (i & 1)};
    u64 byte = (bytes >> (8 * picks[f.number])) & 255;
    if (f.number == 0 && nibble > 7) byte = byte > 127 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return {r};
}
u64 by_table(const Form& f, V v) {
  u64 r = 0;
  for (int i = 0; i < 32; ++i)
    r |= bit(static_cast<u64>(f.number),
             static_cast<int>(bit(v[0], i) * 4 + bit(v[1], i) * 2 + bit(v[2], i)))
         << i;
  return r;
}
Pair table(const Form& f, V v) { return {by_table(f, v)}; }
Pair table_and(const Form& f, V v) {
  const u64 r = by_table(f, v);
  return {r, u64{r != 0} & (v[3] ^ u64{f.inverted})};
}
Pair table_or(const Form& f, V v) {
  const u64 r = by_table(f, v);
  return {r, u64{r != 0} | (v[3] ^ u64{f.inverted})};
}
Pair select(const Form& f, V v) { return {(v[2] ^ u64{f.inverted}) != 0 ? v[0] : v[1]}; }
Pair by_sign(const Form&, V v) { return {bit(v[2], 31) == 0 ? v[0] : v[1]}; }
Pair by_float_sign(const Form& f, V v) {
  const Number c = argument(f, fp32, v[2]);
  return {c.kind == Number::zero || (c.kind != Number::nan && !c.negative) ? v[0] : v[1]};
}

struct Row {
  const char* name;
  const char* result;
  const char* arguments;  // x: the type's own kind
  Pair (*run)(const Form&, V);
  int number = 0;
};
constexpr Row logic[] = {{"and", "x", "xx", both},   {"or", "x", "xx", either},
                         {"xor", "x", "xx", differ}, {"not", "x", "x", inverse},
                         {"cnot", "x", "x", none},   {"shl", "x", "xn", left},
                         {"shr", "x", "xn", right}};
constexpr Row wide_logic[] = {{"brev", "x", "x", reversed},
                              {"popc", "i", "x", population},
                              {"clz", "i", "x", leading},
                              {"bfi", "x", "xxnn", insert}};
constexpr Row integer[] = {{"bfe", "x", "xnn", extract},
                           {"bfind", "i", "x", find, 0},
                           {"bfind.shiftamt", "i", "x", find, 1}};
constexpr Row words[] = {
    {"shf.l.clamp.b32", "i", "iin", funnel, 1}, {"shf.l.wrap.b32", "i", "iin", funnel, 3},
    {"shf.r.clamp.b32", "i", "iin", funnel, 0}, {"shf.r.wrap.b32", "i", "iin", funnel, 2},
    {"fns.b32", "i", "inn", find_set},          {"bmsk.clamp.b32", "i", "nn", mask, 0},
    {"bmsk.wrap.b32", "i", "nn", mask, 1},      {"prmt.b32", "i", "iii", permute, 0},
    {"prmt.b32.f4e", "i", "iii", permute, 1},   {"prmt.b32.b4e", "i", "iii", permute, 2},
    {"prmt.b32.rc8", "i", "iii", permute, 3},   {"prmt.b32.ecl", "i", "iii", permute, 4},
    {"prmt.b32.ecr", "i", "iii", permute, 5},   {"prmt.b32.rc16", "i", "iii", permute, 6}};
// The truth of a predicate is its one bit.
constexpr Row predicates[] = {{"and.pred", "p", "pp", both},
                              {"or.pred", "p", "pp", either},
                              {"xor.pred", "p", "pp", differ},
                              {"not.pred", "p", "p", inverse},
                              {"mov.pred", "p", "p", copied}};
constexpr Row szext[] = {{"szext.clamp", "x", "xn", extend, 0},
                         {"szext.wrap", "x", "xn", extend, 1}};

Form made(const Row& row, const IntegerType& type, const std::string& text) {
  const auto kinds = [&](std::string letters) {
    for (char& c : letters) c = c == 'x' ? type.kind : c;
    return letters;
  };
  return {.text = text,
          .results = kinds(row.result),
          .arguments = kinds(row.arguments),
          .run = row.run,
          .bits = type.bits,
          .is_signed = type.is_signed,
          .number = row.number};
}
Form typed(const Row& row, const IntegerType& type) {
  return made(row, type, std::string(row.name) + "." + type.name);
}

constexpr IntegerType word = {"", 32, false, 'i'}, truth = {"", 1, false, 'p'};
// What selp, slct and mov are called; PTX lists no fp16 for them, the interpreter takes it.
constexpr IntegerType movable[] = {
    {"b16", 16, false, 's'}, {"u16", 16, false, 's'},  {"s16", 16, true, 's'},
    {"f16", 16, false, 'e'}, {"bf16", 16, false, 'b'}, {"b32", 32, false, 'i'},
    {"u32", 32, false, 'i'}, {"s32", 32, true, 'i'},   {"f32", 32, false, 'f'},
    {"b64", 64, false, 'l'}, {"u64", 64, false, 'l'},  {"s64", 64, true, 'l'},
    {"f64", 64, false, 'g'}};

void add_selections(std::vector<Form>& out) {
  for (const IntegerType& type : movable) {
    const std::size_t first = out.size();
    out.push_back(typed({"mov", "x", "x", copied}, type));
    for (const bool inverted : {false, true}) {
      out.push_back(typed({"selp", "x", "xxp", select}, type));
      out.back().inverted = inverted;
    }
    const std::string slct = std::string("slct.") + type.name;
    out.push_back(made({"", "x", "xxi", by_sign}, type, slct + ".s32"));
    out.push_back(made({"", "x", "xxf", by_float_sign}, type, slct + ".f32"));
    out.push_back(
        made({"", "x", "xxf", by_float_sign}, type, std::string("slct.ftz.") + type.name + ".f32"));
    out.back().ftz = true;
    for (std::size_t i = first; i < out.size(); ++i)
      out[i].assembles = type.kind != 'e' && type.kind != 'b';
  }
}

void add_tables(std::vector<Form>& out) {
  constexpr int tables[] = {0x00, 0x01, 0x02, 0x08, 0x1b, 0x3c, 0x40, 0x69, 0x80,
                            0x96, 0xaa, 0xca, 0xcc, 0xe8, 0xf0, 0xfe, 0xff};
  for (const int number : tables) {
    const std::string suffix = ", " + std::to_string(number);
    out.push_back(made({"", "i", "iii", table, number}, word, "lop3.b32"));
    out.back().suffix = suffix;
    if (number % 5 != 0) continue;
    for (const bool inverted : {false, true}) {
      for (const bool joins : {false, true}) {
        out.push_back(made({"", "ip", "iiip", joins ? table_and : table_or, number}, word,
                           joins ? "lop3.and.b32" : "lop3.or.b32"));
        out.back().suffix = suffix;
        out.back().inverted = inverted;
      }
    }
  }
}

}  // namespace

void add_bit_forms(std::vector<Form>& out) {
  for (const IntegerType& type : bit_types) {
    for (const Row& row : logic) out.push_back(typed(row, type));
    if (type.bits == 16) continue;
    for (const Row& row : wide_logic) out.push_back(typed(row, type));
  }
  for (const IntegerType& type : integer_types) {
    out.push_back(typed({"shr", "x", "xn", right}, type));
    if (type.bits == 16) continue;
    for (const Row& row : integer) out.push_back(typed(row, type));
    if (type.bits == 64) continue;
    for (const Row& row : szext) out.push_back(typed(row, type));
  }
  for (const Row& row : words) out.push_back(made(row, word, row.name));
  for (const Row& row : predicates) out.push_back(made(row, truth, row.name));
  add_selections(out);
  add_tables(out);
}

}  // namespace conformance
