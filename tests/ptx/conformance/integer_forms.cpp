// Integer arithmetic, by 128-bit integers of the host.
#include <algorithm>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

s128 at(const Form& f, u64 v) { return extended(v, f.bits, f.is_signed); }
Pair cut(const Form& f, s128 v) { return {static_cast<u64>(v) & low_bits(f.bits)}; }
s128 least(const Form& f) { return f.is_signed ? -(s128{1} << (f.bits - 1)) : 0; }
s128 most(const Form& f) { return (s128{1} << (f.bits - (f.is_signed ? 1 : 0))) - 1; }
Pair clamped(const Form& f, s128 v) { return cut(f, std::clamp(v, least(f), most(f))); }
u128 times(const Form& f, V v) {
  return static_cast<u128>(at(f, v[0])) * static_cast<u128>(at(f, v[1]));
}
s128 high(const Form& f, V v) { return at(f, static_cast<u64>(times(f, v) >> f.bits)); }

Pair add(const Form& f, V v) {
  return f.sat ? clamped(f, at(f, v[0]) + at(f, v[1])) : cut(f, at(f, v[0]) + at(f, v[1]));
}
Pair sub(const Form& f, V v) {
  return f.sat ? clamped(f, at(f, v[0]) - at(f, v[1])) : cut(f, at(f, v[0]) - at(f, v[1]));
}
Pair mul_lo(const Form& f, V v) { return cut(f, static_cast<s128>(times(f, v))); }
Pair mul_hi(const Form& f, V v) { return cut(f, high(f, v)); }
Pair mad_lo(const Form& f, V v) { return cut(f, static_cast<s128>(times(f, v) + v[2])); }
Pair mad_hi(const Form& f, V v) {
  return f.sat ? clamped(f, high(f, v) + at(f, v[2])) : cut(f, high(f, v) + at(f, v[2]));
}
Pair mul_wide(const Form& f, V v) { return {static_cast<u64>(times(f, v)) & low_bits(2 * f.bits)}; }
Pair mad_wide(const Form& f, V v) {
  return {static_cast<u64>(times(f, v) + v[2]) & low_bits(2 * f.bits)};
}
// By zero: all ones, as an H200 does.
Pair divide(const Form& f, V v) {
  return at(f, v[1]) == 0 ? cut(f, -1) : cut(f, at(f, v[0]) / at(f, v[1]));
}
Pair remainder(const Form& f, V v) {
  return at(f, v[1]) == 0 ? cut(f, -1) : cut(f, at(f, v[0]) % at(f, v[1]));
}
Pair lesser(const Form& f, V v) {
  const s128 r = std::min(at(f, v[0]), at(f, v[1]));
  return cut(f, f.relu ? std::max<s128>(r, 0) : r);
}
Pair greater(const Form& f, V v) {
  const s128 r = std::max(at(f, v[0]), at(f, v[1]));
  return cut(f, f.relu ? std::max<s128>(r, 0) : r);
}
Pair difference(const Form& f, V v) {
  const s128 a = at(f, v[0]), b = at(f, v[1]);
  return cut(f, static_cast<s128>(v[2]) + std::max(a, b) - std::min(a, b));
}
Pair absolute(const Form& f, V v) { return cut(f, std::max(at(f, v[0]), -at(f, v[0]))); }
Pair negative(const Form& f, V v) { return cut(f, -at(f, v[0])); }
s128 times24(const Form& f, V v) {
  return extended(v[0], 24, f.is_signed) * extended(v[1], 24, f.is_signed);
}
Pair mul24_lo(const Form& f, V v) { return cut(f, times24(f, v)); }
Pair mul24_hi(const Form& f, V v) { return cut(f, times24(f, v) >> 16); }
Pair mad24_lo(const Form& f, V v) { return cut(f, times24(f, v) + v[2]); }
Pair mad24_hi(const Form& f, V v) {
  const s128 upper = at(f, static_cast<u64>(times24(f, v) >> 16));
  return f.sat ? clamped(f, upper + at(f, v[2])) : cut(f, upper + at(f, v[2]));
}

// number: 0 dp4a, 1 dp2a.lo, 2 dp2a.hi
Pair dot(const Form& f, V v) {
  s128 r = v[2];
  const int terms = f.number == 0 ? 4 : 2, width = f.number == 0 ? 8 : 16,
            from = f.number == 2 ? 16 : 0;
  for (int i = 0; i < terms; ++i)
    r += extended(v[0] >> (width * i), width, f.is_signed) *
         extended(v[1] >> (from + 8 * i), 8, f.from_signed);
  return {static_cast<u64>(r) & low_bits(32)};
}

struct Row {
  const char* name;
  const char* shape;  // x: the type's own kind
  Pair (*run)(const Form&, V);
};
constexpr Row every_type[] = {
    {"add", "xx", add},       {"sub", "xx", sub},        {"mul.lo", "xx", mul_lo},
    {"mul.hi", "xx", mul_hi}, {"mad.lo", "xxx", mad_lo}, {"mad.hi", "xxx", mad_hi},
    {"div", "xx", divide},    {"rem", "xx", remainder},  {"min", "xx", lesser},
    {"max", "xx", greater},   {"sad", "xxx", difference}};
constexpr Row signed_types[] = {{"abs", "x", absolute}, {"neg", "x", negative}};
constexpr Row narrow_types[] = {{"mul.wide", "xx", mul_wide}, {"mad.wide", "xxw", mad_wide}};
constexpr Row types32[] = {{"mul24.lo", "xx", mul24_lo},
                           {"mul24.hi", "xx", mul24_hi},
                           {"mad24.lo", "xxx", mad24_lo},
                           {"mad24.hi", "xxx", mad24_hi}};
constexpr Row saturating[] = {{"add.sat", "xx", add},
                              {"sub.sat", "xx", sub},
                              {"mad.hi.sat", "xxx", mad_hi},
                              {"mad24.hi.sat", "xxx", mad24_hi}};
constexpr Row relus[] = {{"min.relu", "xx", lesser}, {"max.relu", "xx", greater}};
constexpr Row pairs[] = {{"add", "xx", add}, {"min", "xx", lesser}, {"max", "xx", greater}};

Form made(const Row& row, const IntegerType& type, bool wide = false) {
  const char wider = type.bits == 16 ? 'i' : 'l';
  std::string arguments = row.shape;
  for (char& c : arguments) c = c == 'w' ? wider : type.kind;
  return {.text = std::string(row.name) + "." + type.name,
          .results = std::string(1, wide ? wider : type.kind),
          .arguments = arguments,
          .run = row.run,
          .bits = type.bits,
          .is_signed = type.is_signed};
}

// Two of 16 bits in a register of 32.
Form halves(const Row& row, const IntegerType& type) {
  Form form = made(row, type);
  form.text += "x2";
  form.results = "i";
  form.arguments = "ii";
  form.packed = true;
  return form;
}

}  // namespace

void add_integer_forms(std::vector<Form>& out) {
  for (const IntegerType& type : integer_types) {
    for (const Row& row : every_type) out.push_back(made(row, type));
    if (type.bits < 64) {
      for (const Row& row : narrow_types) out.push_back(made(row, type, true));
    }
    if (type.bits == 32) {
      for (const Row& row : types32) out.push_back(made(row, type));
    }
    if (type.is_signed) {
      for (const Row& row : signed_types) out.push_back(made(row, type));
    }
    if (type.bits == 16) {
      for (const Row& row : pairs) out.push_back(halves(row, type));
    }
  }
  const IntegerType& s32 = integer_types[3];
  for (const Row& row : saturating) {
    out.push_back(made(row, s32));
    out.back().sat = true;
  }
  for (const Row& row : relus) {
    out.push_back(made(row, s32));
    out.back().relu = true;
    out.push_back(halves(row, integer_types[1]));
    out.back().relu = true;
  }
  const char* names[] = {"dp4a", "dp2a.lo", "dp2a.hi"};
  for (int number = 0; number < 3; ++number) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true})
        out.push_back(
            {.text = std::string(names[number]) + (a ? ".s32" : ".u32") + (b ? ".s32" : ".u32"),
             .results = "i",
             .arguments = "iii",
             .run = dot,
             .is_signed = a,
             .from_signed = b,
             .number = number});
    }
  }
}

}  // namespace conformance
