// Floating-point arithmetic: exact numbers, rounded once. A result that is no number is the
// format's canonical NaN.
#include <initializer_list>

#include "ptx/conformance/form.hpp"

namespace conformance {
namespace {

using V = const u64*;

Number in(const Form& f, u64 v) { return argument(f, *f.format, v); }

u64 sign_of(const Format& format) { return u64{1} << (format.fraction + format.exponent); }
u64 flushed(const Form& f, u64 v) {
  return f.ftz && is_subnormal(*f.format, v) ? v & sign_of(*f.format) : v;
}

// `nans`: operands whose NaN fp64 hands on, quiet, the foremost first.
Pair rounded(const Form& f, const Number& value, std::initializer_list<u64> nans) {
  if (f.format == &fp64 && value.kind == Number::nan) {
    for (const u64 v : nans) {
      if (is_nan(fp64, v)) return {quieted(fp64, v)};
    }
  }
  u64 r = encode(*f.format, value, f.round);
  if (f.ftz && is_tiny(*f.format, value, f.round)) r &= sign_of(*f.format);
  const Number n = decode(*f.format, r);
  const Number one = of_integer(1);
  if (f.sat) {
    if (n.kind == Number::nan || n.kind == Number::zero || n.negative) return {0};
    return {compared(n, one) > 0 ? encode(*f.format, one, f.round) : r};
  }
  if (f.relu && n.kind != Number::nan && n.negative) r = 0;
  return {r};
}

Pair add(const Form& f, V v) {
  return rounded(f, sum(in(f, v[0]), in(f, v[1]), f.round), {v[1], v[0]});
}
Pair sub(const Form& f, V v) {
  return rounded(f, sum(in(f, v[0]), negated(in(f, v[1])), f.round), {v[1], v[0]});
}
Pair mul(const Form& f, V v) { return rounded(f, product(in(f, v[0]), in(f, v[1])), {v[1], v[0]}); }
Pair fma(const Form& f, V v) {
  return rounded(f, sum(product(in(f, v[0]), in(f, v[1])), in(f, v[2]), f.round),
                 {v[1], v[2], v[0]});
}
// The NaN that a tensor copy puts outside a tensor makes the result zero as a factor.
Pair fma_in_bounds(const Form& f, V v) {
  constexpr u64 outside = 0x7ff7;
  return v[0] == outside || v[1] == outside ? Pair{0} : fma(f, v);
}
Pair divide(const Form& f, V v) {
  return rounded(f, quotient(in(f, v[0]), in(f, v[1])), {v[0], v[1]});
}
Pair reciprocal(const Form& f, V v) {
  return rounded(f, quotient(of_integer(1), in(f, v[0])), {v[0]});
}
Pair square_root(const Form& f, V v) { return rounded(f, root(in(f, v[0])), {v[0]}); }

u64 nan_of(const Form& f, u64 v) {
  return f.format == &fp64 ? quieted(fp64, v) : f.format->canonical_nan;
}
Pair absolute(const Form& f, V v) {
  return {is_nan(*f.format, v[0]) ? nan_of(f, v[0]) : flushed(f, v[0]) & ~sign_of(*f.format)};
}
Pair negative(const Form& f, V v) {
  return {is_nan(*f.format, v[0]) ? nan_of(f, v[0]) : flushed(f, v[0]) ^ sign_of(*f.format)};
}
Pair with_sign(const Form& f, V v) {
  const u64 sign = sign_of(*f.format);
  return {(v[0] & sign) | (v[1] & ~sign)};
}

// The lesser (number -1) or the greater (1) of two; -0 is below +0. One that is no number loses, or
// wins with .NaN.
Pair extreme(const Form& f, V v) {
  const u64 sign = sign_of(*f.format), signs = (v[0] ^ v[1]) & sign;
  const u64 a = flushed(f, f.xorsign ? v[0] & ~sign : v[0]),
            b = flushed(f, f.xorsign ? v[1] & ~sign : v[1]);
  const bool no_a = is_nan(*f.format, a), no_b = is_nan(*f.format, b);
  u64 r = 0;
  if (no_a && no_b) {
    return {nan_of(f, b)};
  } else if (no_a || no_b) {
    if (f.nan) return {f.format->canonical_nan};
    r = no_a ? b : a;
  } else {
    int order = compared(in(f, a), in(f, b));
    if (order == 0) order = (a & sign) == (b & sign) ? 0 : (a & sign) != 0 ? -1 : 1;
    r = order == f.number ? a : b;
  }
  return {f.xorsign ? (r & ~sign) | signs : r};
}

// number: finite, infinite, number, notanumber, normal (zero too), subnormal
Pair property(const Form& f, V v) {
  const Number n = decode(*f.format, v[0]);
  const bool subnormal = is_subnormal(*f.format, v[0]),
             is_finite = n.kind == Number::zero || n.kind == Number::finite;
  const bool holds[] = {is_finite,
                        n.kind == Number::infinite,
                        n.kind != Number::nan,
                        n.kind == Number::nan,
                        is_finite && !subnormal,
                        subnormal};
  return {u64{holds[f.number]}};
}

struct Row {
  const char* name;
  int arguments;
  Pair (*run)(const Form&, V);
};
constexpr Row arithmetic[] = {
    {"add", 2, add}, {"sub", 2, sub}, {"mul", 2, mul}, {"fma", 3, fma}, {"mad", 3, fma}};
constexpr Row divisions[] = {{"div", 2, divide}, {"rcp", 1, reciprocal}, {"sqrt", 1, square_root}};

Form made(const Row& row, const FloatType& type, const std::string& modifiers,
          Round round = Round::nearest) {
  return {.text = row.name + modifiers + "." + type.name,
          .results = std::string(1, type.kind),
          .arguments = std::string(static_cast<std::size_t>(row.arguments), type.kind),
          .run = row.run,
          .format = type.format,
          .round = round,
          .ftz = modifiers.find(".ftz") != std::string::npos,
          .sat = modifiers.find(".sat") != std::string::npos,
          .relu = modifiers.find(".relu") != std::string::npos,
          .nan = modifiers.find(".NaN") != std::string::npos,
          .xorsign = modifiers.find(".xorsign") != std::string::npos,
          .packed = type.packed,
          .assembles = type.format != &bf16 || (modifiers.find(".ftz") == std::string::npos &&
                                                modifiers.find(".sat") == std::string::npos)};
}

constexpr FloatType f32{"f32", &fp32, 'f'}, f64{"f64", &fp64, 'g'};
constexpr Rounding spelled[] = {{"", Round::nearest},
                                {".rn", Round::nearest},
                                {".rz", Round::zero},
                                {".rm", Round::down},
                                {".rp", Round::up}};

void add_wide(std::vector<Form>& out) {
  for (const Row& row : arithmetic) {
    for (const Rounding& r : spelled) {
      const bool unrounded = row.run == fma && r.name[0] == '\0';
      for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
        out.push_back(made(row, f32, std::string(r.name) + more, r.round));
        out.back().assembles = !unrounded;
      }
      if (unrounded && row.name[0] == 'f') continue;
      out.push_back(made(row, f64, r.name, r.round));
      out.back().assembles = !unrounded;
    }
  }
  for (const Row& row : divisions) {
    for (const Rounding& r : roundings) {
      for (const char* more : {"", ".ftz"})
        out.push_back(made(row, f32, std::string(r.name) + more, r.round));
      out.push_back(made(row, f64, r.name, r.round));
    }
  }
  for (const Row& row : {Row{"abs", 1, absolute}, Row{"neg", 1, negative}}) {
    for (const char* more : {"", ".ftz"}) out.push_back(made(row, f32, more));
    out.push_back(made(row, f64, ""));
  }
  for (const FloatType& type : {f32, f64})
    out.push_back(made({"copysign", 2, with_sign}, type, ""));
}

void add_half(std::vector<Form>& out) {
  for (const FloatType& type : half_types) {
    for (const Row& row : {arithmetic[0], arithmetic[1], arithmetic[2]}) {
      for (const char* round : {"", ".rn"}) {
        for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
          if (type.format == &fp16 || std::string(more) != ".ftz.sat")
            out.push_back(made(row, type, std::string(round) + more));
        }
      }
    }
    for (const char* more : {"", ".ftz", ".sat", ".relu", ".ftz.relu", ".ftz.sat"})
      out.push_back(made(arithmetic[3], type, std::string(".rn") + more));
    for (const char* more : {".rn.oob", ".rn.oob.relu"})
      out.push_back(made({"fma", 3, fma_in_bounds}, type, more));
    for (const Row& row : {Row{"abs", 1, absolute}, Row{"neg", 1, negative}}) {
      out.push_back(made(row, type, ""));
      if (type.format == &fp16) out.push_back(made(row, type, ".ftz"));
    }
  }
}

void add_extremes(std::vector<Form>& out) {
  for (const int number : {-1, 1}) {
    const Row row{number < 0 ? "min" : "max", 2, extreme};
    const auto add = [&](const FloatType& type, const std::string& modifiers) {
      out.push_back(made(row, type, modifiers));
      out.back().number = number;
    };
    for (const char* ftz : {"", ".ftz"}) {
      for (const char* more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
        add(f32, std::string(ftz) + more);
    }
    add(f64, "");
    for (const FloatType& type : half_types) {
      for (const char* ftz : {"", ".ftz"}) {
        if (ftz[0] != '\0' && type.format == &bf16) continue;
        for (const char* more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
          add(type, std::string(ftz) + more);
      }
    }
  }
}

}  // namespace

void add_float_forms(std::vector<Form>& out) {
  add_wide(out);
  add_half(out);
  add_extremes(out);
  const char* names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (const FloatType& type : {f32, f64}) {
    for (int number = 0; number < 6; ++number) {
      out.push_back(made({"testp", 1, property}, type, std::string(".") + names[number]));
      out.back().results = "p";
      out.back().number = number;
    }
  }
}

}  // namespace conformance
