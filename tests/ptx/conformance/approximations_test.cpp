// The approximate functions against the host's: within the errors that PTX publishes for them, and
// as bad as those allow. A function that is exact here and not on a chip lets kernels pass that are
// wrong there.
#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "catch.hpp"
#include "ptx/conformance/number.hpp"
#include "ptx/lanes/lanes.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using namespace conformance;

namespace {

// Of one argument or two, drawn from [low, high]; for pairs of halves both are the same. share: of
// its bound the error is at least that on average; where it is 0 the bound is too near to rounding
// to tell them.
struct Approximation {
  const char* name;  // of the function
  std::vector<const char*> forms;
  const Format* format;
  double (*exact)(double, double);
  double low, high, relative, absolute, share;
};
constexpr int points = 256;

const std::vector<Approximation>& approximations() {
  const auto exp2 = [](double v, double) { return std::exp2(v); };
  const auto lg2 = [](double v, double) { return std::log2(v); };
  const auto rsqrt = [](double v, double) { return 1 / std::sqrt(v); };
  const auto sqrt = [](double v, double) { return std::sqrt(v); };
  const auto reciprocal = [](double v, double) { return 1 / v; };
  const auto tanh = [](double v, double) { return std::tanh(v); };
  const auto sin = [](double v, double) { return std::sin(v); };
  const auto cos = [](double v, double) { return std::cos(v); };
  const auto quotient = [](double a, double b) { return a / b; };
  const double turn = 6.283185307, ulp = 0x1p-23;
  static const std::vector<Approximation> rows = {
      {"ex2", {".approx.f32", ".approx.ftz.f32"}, &fp32, exp2, -20, 20, 2 * ulp, 0, 0},
      {"lg2", {".approx.f32", ".approx.ftz.f32"}, &fp32, lg2, 0.51, 1.99, 0, 0x1p-22, 0.3},
      {"lg2", {".approx.f32", ".approx.ftz.f32"}, &fp32, lg2, 2.01, 100, 0x1p-22, 0, 0.2},
      {"rcp", {".approx.f32", ".approx.ftz.f32"}, &fp32, reciprocal, 0.01, 100, ulp, 0, 0},
      {"rsqrt",
       {".approx.f32", ".approx.ftz.f32"},
       &fp32,
       rsqrt,
       0.01,
       100,
       std::exp2(-22.9),
       0,
       0.2},
      {"sqrt", {".approx.f32", ".approx.ftz.f32"}, &fp32, sqrt, 0.01, 100, ulp, 0, 0.2},
      {"sin",
       {".approx.f32", ".approx.ftz.f32"},
       &fp32,
       sin,
       -turn,
       turn,
       0,
       std::exp2(-20.5),
       0.3},
      {"sin",
       {".approx.f32", ".approx.ftz.f32"},
       &fp32,
       sin,
       -50 * turn,
       50 * turn,
       0,
       std::exp2(-14.7),
       0.2},
      {"cos",
       {".approx.f32", ".approx.ftz.f32"},
       &fp32,
       cos,
       -turn,
       turn,
       0,
       std::exp2(-20.5),
       0.3},
      {"cos",
       {".approx.f32", ".approx.ftz.f32"},
       &fp32,
       cos,
       -50 * turn,
       50 * turn,
       0,
       std::exp2(-14.7),
       0.2},
      {"tanh", {".approx.f32"}, &fp32, tanh, -5, 5, 0x1p-11, 0, 0.3},
      {"div",
       {".approx.f32", ".approx.ftz.f32", ".full.f32", ".full.ftz.f32"},
       &fp32,
       quotient,
       0.01,
       100,
       2 * ulp,
       0,
       0.15},
      {"rcp", {".approx.ftz.f64"}, &fp64, reciprocal, 0.01, 100, 2e-6, 0, 0.1},
      {"rsqrt", {".approx.f64", ".approx.ftz.f64"}, &fp64, rsqrt, 0.01, 100, 2e-6, 0, 0.1},
      {"ex2", {".approx.f16", ".approx.f16x2"}, &fp16, exp2, -9, 9, std::exp2(-9.9), 0, 0.25},
      {"ex2", {".approx.ftz.bf16", ".approx.ftz.bf16x2"}, &bf16, exp2, -20, 20, 0x1p-7, 0, 0.2},
      {"tanh", {".approx.f16", ".approx.f16x2"}, &fp16, tanh, -5, 5, 0, std::exp2(-10.987), 0.25},
      {"tanh", {".approx.bf16", ".approx.bf16x2"}, &bf16, tanh, -5, 5, 0, 0x1p-8, 0.25},
  };
  return rows;
}

double value_of(const Format& format, u64 bits) {
  const Number v = decode(format, bits);
  if (v.kind == Number::nan || v.kind == Number::infinite) return std::nan("");
  return std::ldexp(static_cast<double>(v.magnitude), v.exponent) * (v.negative ? -1 : 1);
}
u64 bits_of(const Format& format, double v) {
  return encode(format, decode(fp64, std::bit_cast<u64>(v)), Round::nearest);
}

// One result of 64 bits for two arguments of 64 bits each.
std::string kernel_of(const std::string& form, const std::string& type, bool two) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry approximation(.param "
         ".u64 a, .param .u64 o) {\n"
         ".reg .b32 %i;\n.reg .b64 %from, %to, %zero;\n.reg ." +
         type +
         " %v, %w, %r;\nmov.u32 %i, %tid.x;\nld.param.u64 %from, [a];\nld.param.u64 %to, [o];\n" +
         "mad.wide.u32 %from, %i, 16, %from;\nmad.wide.u32 %to, %i, 8, %to;\nmov.b64 %zero, "
         "0;\nst.global.b64 [%to], "
         "%zero;\nld.global." +
         type + " %v, [%from];\nld.global." + type + " %w, [%from+8];\n" + form + " %r, %v" +
         (two ? ", %w" : "") + ";\nst.global." + type + " [%to], %r;\nret;\n}\n";
}

void check_form(const Approximation& row, const std::string& form) {
  const bool pair = form.back() == '2' && form[form.size() - 2] == 'x';
  const std::string type = row.format == &fp64           ? "b64"
                           : pair || row.format == &fp32 ? "b32"
                                                         : "b16";
  std::vector<u64> a;
  for (int i = 0; i < points; ++i) {
    for (const int at : {i, (i * 37 + 11) % points}) {
      const u64 bits = bits_of(*row.format, row.low + (row.high - row.low) * (at + 0.5) / points);
      a.push_back(pair ? bits | (bits << 16) : bits);
    }
  }
  Device d;
  const auto ia = d.input("a", a), io = d.output("o", points * 8);
  const auto module = module_of(kernel_of(form, type, std::string(row.name) == "div"));
  const auto report =
      d.run(module, "approximation", {1}, {points}, 0, Device::Pointer{ia}, Device::Pointer{io});
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<u64>(io);
  double errors = 0, bounds = 0;
  int rounded_otherwise = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const u64 mask = pair ? 0xffff : ~u64{0};
    const double want = row.exact(value_of(*row.format, a[2 * i] & mask),
                                  value_of(*row.format, a[2 * i + 1] & mask));
    if (pair) REQUIRE((o[i] >> 16) == (o[i] & mask));
    const double error = std::fabs(value_of(*row.format, o[i] & mask) - want);
    const double bound = row.relative * std::fabs(want) + row.absolute;
    REQUIRE(error <= bound);
    errors += error;
    bounds += bound;
    if ((o[i] & mask) != bits_of(*row.format, want)) ++rounded_otherwise;
  }
  CHECK(errors >= row.share * bounds);
  CHECK(rounded_otherwise >= points / 16);
}

struct Special {
  const char* form;
  u64 argument, result;
};

}  // namespace

TEST_CASE("approximations stay within their published error", "[conformance]") {
  for (const Approximation& row : approximations()) {
    for (const char* form : row.forms) {
      INFO(row.name << form);
      check_form(row, std::string(row.name) + form);
    }
  }
}

// What no approximation misses: zeros, infinities, signs, results that are powers of two, and where
// tanh has reached one.
TEST_CASE("special values of approximations are exact", "[conformance]") {
  static constexpr Special rows[] = {
      {"ex2.approx.f32", 0x40400000, 0x41000000},  {"ex2.approx.f32", 0x80000000, 0x3f800000},
      {"ex2.approx.f32", 0xff800000, 0},           {"ex2.approx.f32", 0x7f800000, 0x7f800000},
      {"lg2.approx.f32", 0x41000000, 0x40400000},  {"lg2.approx.f32", 0x3f800000, 0},
      {"lg2.approx.f32", 0, 0xff800000},           {"rcp.approx.f32", 0xc0800000, 0xbe800000},
      {"rcp.approx.f32", 0x80000000, 0xff800000},  {"rcp.approx.f32", 0x7f800000, 0},
      {"sqrt.approx.f32", 0x41800000, 0x40800000}, {"rsqrt.approx.f32", 0x41800000, 0x3e800000},
      {"sin.approx.f32", 0x80000000, 0x80000000},  {"sin.approx.f32", 0x7f800000, 0x7fffffff},
      {"cos.approx.f32", 0, 0x3f800000},           {"cos.approx.f32", 0x7fc00000, 0x7fffffff},
      {"tanh.approx.f32", 0x80000000, 0x80000000}, {"tanh.approx.f32", 0xff800000, 0xbf800000},
      {"tanh.approx.f32", 0x41200000, 0x3f800000}, {"tanh.approx.f32", 0x7fc00000, 0x7fffffff},
      {"ex2.approx.f16", 0x4200, 0x4800},          {"ex2.approx.f16", 0xfc00, 0},
      {"tanh.approx.f16", 0x8000, 0x8000},         {"tanh.approx.f16", 0x7c00, 0x3c00},
      {"tanh.approx.bf16", 0xff80, 0xbf80},        {"tanh.approx.bf16", 0x7fff, 0x7fff},
  };
  for (const Special& row : rows) {
    INFO(row.form << " of " << row.argument);
    Device d;
    const std::string form = row.form;
    const auto ia = d.input("a", std::vector<u64>{row.argument, 0}), io = d.output("o", 8);
    const auto module =
        module_of(kernel_of(form, form.substr(form.size() - 2) == "32" ? "b32" : "b16", false));
    REQUIRE(faults_of(d.run(module, "approximation", {1}, {1}, 0, Device::Pointer{ia},
                            Device::Pointer{io})) == "");
    CHECK(d.values<u64>(io)[0] == row.result);
  }
}

TEST_CASE("every approximate row of the interpreter's tables is among them", "[conformance]") {
  std::set<std::string> known;
  for (const Approximation& row : approximations()) {
    for (const char* form : row.forms) known.insert(std::string(row.name) + form);
  }
  for (auto list = ptx::base_rows(); list->rows != nullptr; ++list) {
    for (unsigned i = 0; i < list->count; ++i) {
      const std::string form = list->rows[i].form;
      const bool approximate =
          form.find(".approx") != std::string::npos || form.find(".full") != std::string::npos;
      if (approximate && known.count(form) == 0) FAIL_CHECK(form << " has no bound here");
    }
  }
}
