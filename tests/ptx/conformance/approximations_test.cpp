// The approximate functions against the host's, within the errors that PTX publishes for them.
#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "catch.hpp"
#include "ptx/conformance/number.hpp"
#include "ptx/lanes/lanes.hpp"
#include "ptx/runner.hpp"

using namespace support;
using namespace conformance;

namespace {

// Of one argument or two, drawn from [low, high]; for pairs of halves both are the same.
struct Approximation {
  const char* name;  // of the function
  std::vector<const char*> forms;
  const Format* format;
  double (*exact)(double, double);
  double low, high, relative, absolute;
};
constexpr int points = 256;

const std::vector<Approximation>& approximations() {
  const auto exp2 = [](double v, double) { return std::exp2(v); };
  const auto rsqrt = [](double v, double) { return 1 / std::sqrt(v); };
  const auto reciprocal = [](double v, double) { return 1 / v; };
  const auto tanh = [](double v, double) { return std::tanh(v); };
  static const std::vector<Approximation> rows = {
      {"ex2", {".approx.f32", ".approx.ftz.f32"}, &fp32, exp2, -20, 20, 2.4e-7, 0},
      {"lg2", {".approx.f32", ".approx.ftz.f32"}, &fp32, [](double v, double) { return std::log2(v); }, 0.01, 100, 2.4e-7, 2e-7},
      {"rcp", {".approx.f32", ".approx.ftz.f32"}, &fp32, reciprocal, 0.01, 100, 1.2e-7, 0},
      {"rsqrt", {".approx.f32", ".approx.ftz.f32"}, &fp32, rsqrt, 0.01, 100, 2.4e-7, 0},
      {"sqrt", {".approx.f32", ".approx.ftz.f32"}, &fp32, [](double v, double) { return std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sin", {".approx.f32", ".approx.ftz.f32"}, &fp32, [](double v, double) { return std::sin(v); }, -3.14, 3.14, 0, 4e-7},
      {"cos", {".approx.f32", ".approx.ftz.f32"}, &fp32, [](double v, double) { return std::cos(v); }, -3.14, 3.14, 0, 4e-7},
      {"tanh", {".approx.f32"}, &fp32, tanh, -5, 5, 5e-4, 0},
      {"div",
       {".approx.f32", ".approx.ftz.f32", ".full.f32", ".full.ftz.f32"},
       &fp32,
       [](double a, double b) { return a / b; },
       0.01,
       100,
       2.4e-7,
       0},
      {"rcp", {".approx.ftz.f64"}, &fp64, reciprocal, 0.01, 100, 2e-6, 0},
      {"rsqrt", {".approx.f64", ".approx.ftz.f64"}, &fp64, rsqrt, 0.01, 100, 2e-6, 0},
      {"ex2", {".approx.f16", ".approx.f16x2"}, &fp16, exp2, -9, 9, 1e-3, 0},
      {"ex2", {".approx.ftz.bf16", ".approx.ftz.bf16x2"}, &bf16, exp2, -20, 20, 8e-3, 0},
      {"tanh", {".approx.f16", ".approx.f16x2"}, &fp16, tanh, -5, 5, 2e-3, 0},
      {"tanh", {".approx.bf16", ".approx.bf16x2"}, &bf16, tanh, -5, 5, 8e-3, 0},
  };
  return rows;
}

double value_of(const Format& format, u64 bits) {
  const Number v = decode(format, bits);
  if (v.kind == Number::nan || v.kind == Number::infinite) return std::nan("");
  return std::ldexp(static_cast<double>(v.magnitude), v.exponent) * (v.negative ? -1 : 1);
}
u64 bits_of(const Format& format, double v) { return encode(format, decode(fp64, std::bit_cast<u64>(v)), Round::nearest); }

// One result of 64 bits for two arguments of 64 bits each.
std::string kernel_of(const std::string& form, const std::string& type, bool two) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry approximation(.param .u64 a, .param .u64 o) {\n"
         ".reg .b32 %i;\n.reg .b64 %from, %to, %zero;\n.reg ." +
         type + " %v, %w, %r;\nmov.u32 %i, %tid.x;\nld.param.u64 %from, [a];\nld.param.u64 %to, [o];\n" +
         "mad.wide.u32 %from, %i, 16, %from;\nmad.wide.u32 %to, %i, 8, %to;\nmov.b64 %zero, 0;\nst.global.b64 [%to], "
         "%zero;\nld.global." +
         type + " %v, [%from];\nld.global." + type + " %w, [%from+8];\n" + form + " %r, %v" + (two ? ", %w" : "") +
         ";\nst.global." + type + " [%to], %r;\nret;\n}\n";
}

void check_form(const Approximation& row, const std::string& form) {
  const bool pair = form.back() == '2' && form[form.size() - 2] == 'x';
  const std::string type = row.format == &fp64 ? "b64" : pair || row.format == &fp32 ? "b32" : "b16";
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
  const auto report = d.run(module, "approximation", {1}, {points}, 0, Device::Pointer{ia}, Device::Pointer{io});
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<u64>(io);
  for (std::size_t i = 0; i < points; ++i) {
    const u64 mask = pair ? 0xffff : ~u64{0};
    const double want = row.exact(value_of(*row.format, a[2 * i] & mask), value_of(*row.format, a[2 * i + 1] & mask));
    if (pair) REQUIRE((o[i] >> 16) == (o[i] & mask));
    REQUIRE(std::fabs(value_of(*row.format, o[i] & mask) - want) <= row.relative * std::fabs(want) + row.absolute);
  }
}

}  // namespace

TEST_CASE("approximations stay within their published error", "[conformance]") {
  for (const Approximation& row : approximations()) {
    for (const char* form : row.forms) {
      INFO(row.name << form);
      check_form(row, std::string(row.name) + form);
    }
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
      const bool approximate = form.find(".approx") != std::string::npos || form.find(".full") != std::string::npos;
      if (approximate && known.count(form) == 0) FAIL_CHECK(form << " has no bound here");
    }
  }
}
