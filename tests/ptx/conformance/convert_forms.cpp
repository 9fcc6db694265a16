// cvt between every two types, in every rounding.
#include <algorithm>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

struct IntegerSide {
  const char* name;
  int bits;
  bool is_signed;
  char kind;  // of a register that holds it
};
constexpr IntegerSide integers[] = {{"u8", 8, false, 'i'},   {"s8", 8, true, 'i'},
                                    {"u16", 16, false, 's'}, {"s16", 16, true, 's'},
                                    {"u32", 32, false, 'i'}, {"s32", 32, true, 'i'},
                                    {"u64", 64, false, 'l'}, {"s64", 64, true, 'l'}};
constexpr FloatType floats[] = {
    {"f16", &fp16, 'e'}, {"bf16", &bf16, 'b'}, {"f32", &fp32, 'f'}, {"f64", &fp64, 'g'}};
constexpr Rounding wholes[] = {
    {".rni", Round::nearest}, {".rzi", Round::zero}, {".rmi", Round::down}, {".rpi", Round::up}};

s128 least(int bits, bool is_signed) { return is_signed ? -(s128{1} << (bits - 1)) : 0; }
s128 most(int bits, bool is_signed) { return (s128{1} << (bits - (is_signed ? 1 : 0))) - 1; }
bool holds_all(const IntegerSide& to, const IntegerSide& from) {
  return least(to.bits, to.is_signed) <= least(from.bits, from.is_signed) &&
         most(to.bits, to.is_signed) >= most(from.bits, from.is_signed);
}
// A narrow result fills its register by its sign.
Pair in_register(const Form& f, s128 v) {
  const s128 narrow = extended(static_cast<u64>(v), f.bits, f.is_signed);
  return {static_cast<u64>(narrow) & low_bits(register_bits(f.results[0]))};
}

Pair between_integers(const Form& f, V v) {
  const s128 a = extended(v[0], f.from_bits, f.from_signed);
  return in_register(
      f, f.sat ? std::clamp(a, least(f.bits, f.is_signed), most(f.bits, f.is_signed)) : a);
}

// What follows rounding: .ftz, .sat, .relu.
u64 finished(const Form& f, u64 r) {
  const Number n = decode(*f.format, r);
  if (f.sat) {
    if (n.kind == Number::nan || n.kind == Number::zero || n.negative) return 0;
    if (compared(n, of_integer(1)) > 0) return encode(*f.format, of_integer(1), Round::nearest);
  }
  if (f.relu && n.kind != Number::nan && n.negative) return 0;
  if (f.ftz && f.format == &fp32 && is_subnormal(*f.format, r)) return r & 0x80000000u;
  return r;
}

// number: bits a result has. Two clamped integers, the first above the second; narrow ones go below
// what the third has.
Pair pack(const Form& f, V v) {
  const int bits = f.number;
  const auto clamped = [&](u64 x) {
    const s128 r =
        std::clamp(extended(x, 32, true), least(bits, f.is_signed), most(bits, f.is_signed));
    return static_cast<u64>(r) & low_bits(bits);
  };
  return {((clamped(v[0]) << bits) | clamped(v[1]) | (v[2] << (2 * bits))) & low_bits(32)};
}

Pair from_integer(const Form& f, V v) {
  return {finished(
      f, encode(*f.format, of_integer(extended(v[0], f.from_bits, f.from_signed)), f.round))};
}

// .ftz is about fp32 alone, and an H200 ignores it on the way to fp16.
Number source(const Form& f, u64 v) {
  if (f.from != &fp32 || f.format == &fp16) return decode(*f.from, v);
  return argument(f, *f.from, v);
}

// What is no number becomes 0, or the top bit alone where 64 bits are on either side.
Pair to_integer(const Form& f, V v) {
  const Number a = source(f, v[0]);
  if (a.kind == Number::nan) {
    if (f.from != &fp64 && f.bits < 64) return {0};
    return in_register(f, s128{1} << (f.bits - 1));
  }
  return in_register(f, conformance::to_integer(a, f.round, least(f.bits, f.is_signed),
                                                most(f.bits, f.is_signed)));
}

// A NaN of fp64 hands on its sign and the top of its payload, quiet; so does one that becomes fp64,
// unless .ftz made it canonical.
u64 converted_nan(const Form& f, u64 v) {
  if (f.from != &fp64 && f.format != &fp64) return f.format->canonical_nan;
  if (f.from == &fp32 && f.ftz) v = fp32.canonical_nan;
  const int from = f.from->exponent + f.from->fraction,
            to = f.format->exponent + f.format->fraction;
  const u64 payload = v & low_bits(f.from->fraction);
  const int wider = f.format->fraction - f.from->fraction;
  const u64 moved = wider >= 0 ? payload << wider : payload >> -wider;
  const u64 exponent = low_bits(f.format->exponent) << f.format->fraction;
  return quieted(*f.format, ((v >> from) & 1) << to | exponent | moved);
}

Pair between_floats(const Form& f, V v) {
  const Number a = source(f, v[0]);
  if (a.kind == Number::nan && !f.sat) return {converted_nan(f, v[0])};
  const Number b = f.whole ? rounded_whole(a, f.round) : a;
  return {finished(f, encode(*f.format, b, f.round, f.clamp))};
}

// cvt.f32.bf16 shifts, and equal types are moved, whatever the bits.
Pair widened(const Form&, V v) { return {v[0] << 16}; }
Pair moved(const Form&, V v) { return {v[0]}; }

// Away from zero, what is no number keeps its upper bits; .satfinite brings it down by one unit, as
// it does infinities.
Pair to_tf32(const Form& f, V v) {
  if (is_nan(fp32, v[0]))
    return {f.round == Round::away ? (v[0] & 0xffffe000u) - (f.clamp ? 0x2000u : 0u)
                                   : tf32.canonical_nan};
  return {finished(f, encode(tf32, decode(fp32, v[0]), f.round, f.clamp))};
}

// Two fp32 into one register, the first above the second.
Pair pair_of(const Form& f, V v) {
  const int bits = 1 + f.format->exponent + f.format->fraction;
  const auto one = [&](u64 x) {
    return finished(f, encode(*f.format, source(f, x), f.round, f.clamp));
  };
  return {(one(v[0]) << bits) | one(v[1])};
}
// Two of a register into two of another.
Pair pair_to_pair(const Form& f, V v) {
  const int to = 1 + f.format->exponent + f.format->fraction,
            from = 1 + f.from->exponent + f.from->fraction;
  u64 r = 0;
  for (int i = 0; i < 2; ++i)
    r |= finished(f, encode(*f.format, decode(*f.from, (v[0] >> (from * i)) & low_bits(from)),
                            f.round, f.clamp))
         << (to * i);
  return {r};
}

void add_integers(std::vector<Form>& out) {
  for (const IntegerSide& to : integers) {
    for (const IntegerSide& from : integers) {
      for (const bool sat : {false, true}) {
        if (sat && holds_all(to, from)) continue;
        out.push_back({.text = std::string(sat ? "cvt.sat." : "cvt.") + to.name + "." + from.name,
                       .results = std::string(1, to.kind),
                       .arguments = std::string(1, from.kind),
                       .run = between_integers,
                       .bits = to.bits,
                       .from_bits = from.bits,
                       .is_signed = to.is_signed,
                       .from_signed = from.is_signed,
                       .sat = sat});
      }
    }
  }
}

void add_mixed(std::vector<Form>& out) {
  for (const IntegerSide& side : integers) {
    for (const FloatType& type : floats) {
      const bool brain = type.format == &bf16;
      if (brain && side.bits == 8) continue;
      for (const Rounding& r : roundings) {
        for (const bool sat : {false, true}) {
          if (sat && brain) continue;
          out.push_back({.text = std::string("cvt") + r.name + (sat ? ".sat." : ".") + type.name +
                                 "." + side.name,
                         .results = std::string(1, type.kind),
                         .arguments = std::string(1, side.kind),
                         .run = from_integer,
                         .from_bits = side.bits,
                         .from_signed = side.is_signed,
                         .format = type.format,
                         .round = r.round,
                         .sat = sat});
        }
      }
      for (const Rounding& r : wholes) {
        for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
          const std::string modifiers = more;
          const bool ftz = modifiers.rfind(".ftz", 0) == 0;
          if ((ftz && type.format != &fp32) || (brain && modifiers != "")) continue;
          out.push_back(
              {.text = std::string("cvt") + r.name + modifiers + "." + side.name + "." + type.name,
               .results = std::string(1, side.kind),
               .arguments = std::string(1, type.kind),
               .run = to_integer,
               .bits = side.bits,
               .is_signed = side.is_signed,
               .from = type.format,
               .round = r.round,
               .ftz = ftz});
        }
      }
    }
  }
}

Form float_form(const std::string& modifiers, const FloatType& to, const FloatType& from,
                Round round) {
  const bool plain = modifiers.empty();
  return {.text = "cvt" + modifiers + "." + to.name + "." + from.name,
          .results = std::string(1, to.kind),
          .arguments = std::string(1, from.kind),
          .run = plain && to.format == &fp32 && from.format == &bf16 ? widened
                 : plain && to.format == from.format && register_bits(to.kind) >= 32
                     ? moved
                     : between_floats,
          .format = to.format,
          .from = from.format,
          .round = round,
          .ftz = modifiers.find(".ftz") != std::string::npos,
          .sat = modifiers.find(".sat") != std::string::npos &&
                 modifiers.find(".satfinite") == std::string::npos,
          .relu = modifiers.find(".relu") != std::string::npos,
          .clamp = modifiers.find(".satfinite") != std::string::npos,
          .whole = modifiers.size() > 3 && modifiers[3] == 'i'};
}

void add_floats(std::vector<Form>& out) {
  for (const FloatType& to : floats) {
    for (const FloatType& from : floats) {
      const int to_bits = register_bits(to.kind), from_bits = register_bits(from.kind);
      const bool has_f32 = to.format == &fp32 || from.format == &fp32,
                 half_of_f32 = to_bits == 16 && from.format == &fp32;
      const bool brain = to.format == &bf16 || from.format == &bf16;
      const auto add = [&](const std::string& modifiers, Round round) {
        for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
          const std::string options = more;
          if ((!has_f32 && options.rfind(".ftz", 0) == 0) ||
              (brain && options.find(".sat") != std::string::npos))
            continue;
          out.push_back(float_form(modifiers + options, to, from, round));
        }
      };
      if (&to == &from) {
        add("", Round::nearest);
        for (const Rounding& r : wholes) add(r.name, r.round);
      } else if (to_bits > from_bits) {
        add("", Round::nearest);
      } else {
        for (const Rounding& r : roundings) add(r.name, r.round);
      }
      if (!half_of_f32) continue;
      for (const Rounding& r : {roundings[0], roundings[1]}) {
        for (const char* more : {".relu", ".satfinite", ".relu.satfinite"})
          out.push_back(float_form(std::string(r.name) + more, to, from, r.round));
      }
    }
  }
}

void add_packed(std::vector<Form>& out) {
  constexpr FloatType pairs[] = {{"f16x2", &fp16, 'E'}, {"bf16x2", &bf16, 'B'}};
  constexpr FloatType bytes[] = {{"e4m3x2", &e4m3, 'q'}, {"e5m2x2", &e5m2, 'q'}};
  constexpr FloatType single{"f32", &fp32, 'f'};
  const auto add = [&](const std::string& modifiers, const FloatType& to, const FloatType& from,
                       Round round, Pair (*run)(const Form&, V)) {
    Form form = float_form(modifiers, to, from, round);
    form.run = run;
    form.arguments = run == pair_of ? "ff" : form.arguments;
    out.push_back(form);
  };
  for (const FloatType& to : pairs) {
    for (const Rounding& r : {roundings[0], roundings[1]}) {
      for (const char* more : {"", ".relu", ".satfinite", ".relu.satfinite"})
        add(std::string(r.name) + more, to, single, r.round, pair_of);
    }
  }
  for (const FloatType& to : bytes) {
    for (const char* more : {"", ".relu"}) {
      add(std::string(".rn.satfinite") + more, to, single, Round::nearest, pair_of);
      add(std::string(".rn.satfinite") + more, to, pairs[0], Round::nearest, pair_to_pair);
      add(std::string(".rn") + more, pairs[0], to, Round::nearest, pair_to_pair);
    }
  }
}

void add_tf32(std::vector<Form>& out) {
  constexpr FloatType single{"f32", &fp32, 'f'}, to{"tf32", &tf32, 't'};
  constexpr Rounding ways[] = {
      {".rna", Round::away}, {".rn", Round::nearest}, {".rz", Round::zero}};
  for (const Rounding& r : ways) {
    for (const char* more : {"", ".relu", ".satfinite"}) {
      const std::string name =
          more;  // ".relu" goes with the roundings of sm_90, ".satfinite" with .rna alone
      if (name != "" && (name == ".satfinite") != (r.round == Round::away)) continue;
      out.push_back(float_form(std::string(r.name) + more, to, single, r.round));
      out.back().run = to_tf32;
    }
  }
}

void add_packs(std::vector<Form>& out) {
  for (const int bits : {16, 8, 4, 2}) {
    for (const bool is_signed : {false, true})
      out.push_back({.text = std::string("cvt.pack.sat.") + (is_signed ? "s" : "u") +
                             std::to_string(bits) + (bits == 16 ? ".s32" : ".s32.b32"),
                     .results = "i",
                     .arguments = bits == 16 ? "ii" : "iii",
                     .run = pack,
                     .is_signed = is_signed,
                     .number = bits});
  }
}

}  // namespace

void add_convert_forms(std::vector<Form>& out) {
  add_integers(out);
  add_mixed(out);
  add_floats(out);
  add_packed(out);
  add_tf32(out);
  add_packs(out);
}

}  // namespace conformance
