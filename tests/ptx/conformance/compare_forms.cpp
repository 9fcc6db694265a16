// setp and set: a comparison, joined with another predicate or not.
#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

struct Comparison {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Comparison comparisons[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},  {"lt", true, false, false, false},
    {"le", true, true, false, false},  {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"lo", true, false, false, false}, {"ls", true, true, false, false},  {"hi", false, false, true, false},
    {"hs", false, true, true, false},  {"num", true, true, true, false},  {"equ", false, true, false, true},
    {"neu", true, false, true, true},  {"ltu", true, false, false, true}, {"leu", true, true, false, true},
    {"gtu", false, false, true, true}, {"geu", false, true, true, true},  {"nan", false, false, false, true}};
constexpr int first_unsigned = 6, first_float = 10;

enum Join { alone, with_and, with_or, with_xor };
constexpr const char* joins[] = {"", ".and", ".or", ".xor"};

// number: comparison, then the join << 8, then what true is called << 16 (0 a predicate, 1 all ones, 2 1.0f)
int packed_number(int comparison, int join, int truth) { return comparison | (join << 8) | (truth << 16); }

bool holds(const Form& f, V v) {
  const Comparison& c = comparisons[f.number & 255];
  int order = 0;
  if (f.format != nullptr) {
    order = compared(argument(f, *f.format, v[0]), argument(f, *f.format, v[1]));
  } else {
    const s128 a = extended(v[0], f.bits, f.is_signed), b = extended(v[1], f.bits, f.is_signed);
    order = a < b ? -1 : a > b ? 1 : 0;
  }
  return order == 2 ? c.unordered : order < 0 ? c.less : order > 0 ? c.greater : c.equal;
}

u64 joined(const Form& f, V v, bool r) {
  const u64 p = r ? 1 : 0, c = v[2] ^ u64 { f.inverted };
  switch ((f.number >> 8) & 255) {
    case with_and:
      return p & c;
    case with_or:
      return p | c;
    case with_xor:
      return p ^ c;
    default:
      return p;
  }
}

Pair predicate(const Form& f, V v) {
  const bool r = holds(f, v);
  return {joined(f, v, r), joined(f, v, !r)};
}
Pair packed_predicate(const Form& f, V v) { return {joined(f, v, holds(f, v))}; }
Pair value(const Form& f, V v) {
  const u64 p = joined(f, v, holds(f, v));
  return {p == 0 ? 0 : (f.number >> 16) == 1 ? 0xffffffffu : 0x3f800000u};
}

struct Source {
  const char* name;
  char kind;
  int bits;
  bool is_signed;
  const Format* format;
  bool packed;
};
constexpr Source sources[] = {
    {"u16", 's', 16, false, nullptr, false}, {"s16", 's', 16, true, nullptr, false}, {"b16", 's', 16, false, nullptr, false},
    {"u32", 'i', 32, false, nullptr, false}, {"s32", 'i', 32, true, nullptr, false}, {"b32", 'i', 32, false, nullptr, false},
    {"u64", 'l', 64, false, nullptr, false}, {"s64", 'l', 64, true, nullptr, false}, {"b64", 'l', 64, false, nullptr, false},
    {"f32", 'f', 32, false, &fp32, false},   {"f64", 'g', 64, false, &fp64, false},  {"f16", 'e', 16, false, &fp16, false},
    {"bf16", 'b', 16, false, &bf16, false},  {"f16x2", 'E', 16, false, &fp16, true}, {"bf16x2", 'B', 16, false, &bf16, true}};

bool applies(const Comparison& c, const Source& source) {
  const auto index = &c - comparisons;
  if (source.format != nullptr) return index < first_unsigned || index >= first_float;
  if (index >= first_float) return false;
  return index < first_unsigned || source.name[0] == 'u';
}

// `set`: also what the result is called, ".u32" for one.
Form made(const Source& source, int comparison, int join, bool inverted, bool ftz, const char* result) {
  const bool is_set = result[0] != '\0';
  const int truth = !is_set ? 0 : result[1] == 'f' ? 2 : 1;
  const bool half = (source.format == &fp16 || source.format == &bf16) && !source.packed;
  const bool ordered_bits = source.name[0] == 'b' && source.format == nullptr && comparison >= 2;
  return {.text = std::string(is_set ? "set." : "setp.") + comparisons[comparison].name + joins[join] + (ftz ? ".ftz" : "") +
                  result + "." + source.name,
          .results = is_set ? "i"
                     : half ? "p"
                            : "pp",
          .arguments = std::string(2, source.kind) + (join != alone ? "p" : ""),
          .run = is_set          ? value
                 : source.packed ? packed_predicate
                                 : predicate,
          .bits = source.bits,
          .is_signed = source.is_signed,
          .format = source.format,
          .ftz = ftz,
          .packed = source.packed,
          .inverted = inverted,
          .assembles = !ordered_bits && (!ftz || source.format != &bf16),
          .number = packed_number(comparison, join, truth)};
}

void add_joins(std::vector<Form>& out, const Source& source, bool ftz) {
  const int comparison = source.name[0] == 'b' ? 1 : 2;
  for (const int join : {with_and, with_or, with_xor}) {
    for (const bool inverted : {false, true}) {
      out.push_back(made(source, comparison, join, inverted, ftz, ""));
      if (!source.packed && out.back().assembles) out.push_back(made(source, comparison, join, inverted, ftz, ".u32"));
    }
  }
}

}  // namespace

void add_compare_forms(std::vector<Form>& out) {
  for (const Source& source : sources) {
    const bool flushes = source.format == &fp32 || source.format == &fp16 || source.format == &bf16;
    for (const bool ftz : {false, true}) {
      if (ftz && (!flushes || source.packed)) continue;
      for (const Comparison& c : comparisons) {
        if (!applies(c, source)) continue;
        const auto index = static_cast<int>(&c - comparisons);
        out.push_back(made(source, index, alone, false, ftz, ""));
        if (source.packed || !out.back().assembles) continue;
        for (const char* result : {".u32", ".s32"}) out.push_back(made(source, index, alone, false, ftz, result));
        if (source.format == nullptr || source.bits > 16) out.push_back(made(source, index, alone, false, ftz, ".f32"));
      }
      add_joins(out, source, ftz);
    }
  }
}

}  // namespace conformance
