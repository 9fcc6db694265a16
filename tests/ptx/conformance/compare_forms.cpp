// setp and set: a comparison, joined with another predicate or not.
#include <iterator>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

struct Comparison {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Comparison comparisons[] = {
    {"eq", false, true, false, false}, {"ne", true, false, true, false},
    {"lt", true, false, false, false}, {"le", true, true, false, false},
    {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"lo", true, false, false, false}, {"ls", true, true, false, false},
    {"hi", false, false, true, false}, {"hs", false, true, true, false},
    {"num", true, true, true, false},  {"equ", false, true, false, true},
    {"neu", true, false, true, true},  {"ltu", true, false, false, true},
    {"leu", true, true, false, true},  {"gtu", false, false, true, true},
    {"geu", false, true, true, true},  {"nan", false, false, false, true}};
constexpr int first_unsigned = 6, first_float = 10;

enum Join { alone, with_and, with_or, with_xor };
constexpr const char* joins[] = {"", ".and", ".or", ".xor"};

// number: comparison, then the join << 8

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
  switch (f.number >> 8) {
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
Pair value(const Form& f, V v) { return {joined(f, v, holds(f, v)) != 0 ? f.yes : 0}; }

struct Source {
  const char* name;
  char kind;
  int bits;
  bool is_signed;
  const Format* format;
  bool packed;
};
constexpr Source sources[] = {
    {"u16", 's', 16, false, nullptr, false}, {"s16", 's', 16, true, nullptr, false},
    {"b16", 's', 16, false, nullptr, false}, {"u32", 'i', 32, false, nullptr, false},
    {"s32", 'i', 32, true, nullptr, false},  {"b32", 'i', 32, false, nullptr, false},
    {"u64", 'l', 64, false, nullptr, false}, {"s64", 'l', 64, true, nullptr, false},
    {"b64", 'l', 64, false, nullptr, false}, {"f32", 'f', 32, false, &fp32, false},
    {"f64", 'g', 64, false, &fp64, false},   {"f16", 'e', 16, false, &fp16, false},
    {"bf16", 'b', 16, false, &bf16, false},  {"f16x2", 'E', 16, false, &fp16, true},
    {"bf16x2", 'B', 16, false, &bf16, true}};

bool applies(const Comparison& c, const Source& source) {
  const auto index = &c - comparisons;
  if (source.format != nullptr) return index < first_unsigned || index >= first_float;
  if (index >= first_float) return false;
  return index < first_unsigned || source.name[0] == 'u';
}

// What set may write: all ones or one.
struct Target {
  const char* name;
  char kind;
  u64 yes;
};
constexpr Target predicates{"", 'p', 1};
constexpr Target of_numbers[] = {{".u32", 'i', 0xffffffffu},
                                 {".s32", 'i', 0xffffffffu},
                                 {".f32", 'f', 0x3f800000u},
                                 {".f16", 'e', 0x3c00},
                                 {".bf16", 'b', 0x3f80}};
constexpr Target of_halves[] = {{".u16", 's', 0xffff},
                                {".s16", 's', 0xffff},
                                {".u32", 'i', 0xffffffffu},
                                {".s32", 'i', 0xffffffffu}};
constexpr Target of_pairs[] = {{".u32", 'i', 0xffff}, {".s32", 'i', 0xffff}};  // a half each

std::vector<Target> targets_of(const Source& source, bool ftz) {
  const bool fp16_source = source.format == &fp16, half = fp16_source || source.format == &bf16;
  if (!half) return {std::begin(of_numbers), std::end(of_numbers) - (ftz ? 1 : 0)};
  const u64 one = fp16_source ? 0x3c00 : 0x3f80;
  std::vector<Target> out;
  if (source.packed) {
    out.assign(std::begin(of_pairs), std::end(of_pairs));
    out.push_back({fp16_source ? ".f16x2" : ".bf16x2", source.kind, one});
  } else {
    out.assign(std::begin(of_halves), std::end(of_halves));
    out.push_back({fp16_source ? ".f16" : ".bf16", source.kind, one});
  }
  return out;
}

struct Way {
  int comparison = 0, join = alone;
  bool inverted = false, ftz = false;
};

Form made(const Source& source, const Way& way, const Target& target) {
  const bool is_set = target.kind != 'p', ordered_bits = source.name[0] == 'b' &&
                                                         source.format == nullptr &&
                                                         way.comparison >= 2;
  const bool one_predicate = source.bits == 16 && source.format != nullptr && !source.packed;
  const std::string predicate_results = one_predicate ? "p" : "pp";
  return {.text = std::string(is_set ? "set." : "setp.") + comparisons[way.comparison].name +
                  joins[way.join] + (way.ftz ? ".ftz" : "") + target.name + "." + source.name,
          .results = is_set ? std::string(1, target.kind) : predicate_results,
          .arguments = std::string(2, source.kind) + (way.join != alone ? "p" : ""),
          .run = is_set          ? value
                 : source.packed ? packed_predicate
                                 : predicate,
          .bits = source.bits,
          .is_signed = source.is_signed,
          .format = source.format,
          .ftz = way.ftz,
          .packed = source.packed,
          .inverted = way.inverted,
          .assembles = !ordered_bits && (!way.ftz || source.format != &bf16),
          .number = way.comparison | (way.join << 8),
          .yes = target.yes};
}

void add_joins(std::vector<Form>& out, const Source& source, int comparison, bool ftz) {
  for (const int join : {with_and, with_or, with_xor}) {
    for (const bool inverted : {false, true}) {
      const Way way{comparison, join, inverted, ftz};
      out.push_back(made(source, way, predicates));
      if (!out.back().assembles || comparison != 2) continue;
      for (const Target& target : targets_of(source, ftz)) out.push_back(made(source, way, target));
    }
  }
}

}  // namespace

void add_compare_forms(std::vector<Form>& out) {
  for (const Source& source : sources) {
    const bool flushes = source.format == &fp32 || source.format == &fp16 || source.format == &bf16;
    for (const bool ftz : {false, true}) {
      if (ftz && !flushes) continue;
      for (const Comparison& c : comparisons) {
        if (!applies(c, source)) continue;
        const Way way{static_cast<int>(&c - comparisons), alone, false, ftz};
        out.push_back(made(source, way, predicates));
        if (out.back().assembles) {
          for (const Target& target : targets_of(source, ftz))
            out.push_back(made(source, way, target));
        }
        add_joins(out, source, way.comparison, ftz);
      }
    }
  }
}

}  // namespace conformance
