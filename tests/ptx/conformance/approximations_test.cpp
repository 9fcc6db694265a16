// The approximate functions against the host's, within the errors that PTX publishes for them.
#include <bit>
#include <cmath>

#include "catch.hpp"
#include "ptx/conformance/number.hpp"
#include "ptx/runner.hpp"

using namespace support;
using namespace conformance;

namespace {

struct Approximation {
  const char* form;
  double (*exact)(double);
  double low, high, relative, absolute;
};
constexpr int points = 256;

// One result an argument, both fp32.
std::string kernel_of(const std::string& form) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry approximation(.param .u64 a, .param .u64 o) {\n"
         ".reg .b32 %i, %v, %r;\n.reg .b64 %from, %to;\nmov.u32 %i, %tid.x;\nld.param.u64 %from, [a];\nld.param.u64 %to, [o];\n"
         "mad.wide.u32 %from, %i, 4, %from;\nmad.wide.u32 %to, %i, 4, %to;\nld.global.b32 %v, [%from];\n" +
         form + " %r, %v;\nst.global.b32 [%to], %r;\nret;\n}\n";
}

}  // namespace

TEST_CASE("approximations stay within their published error", "[conformance]") {
  const Approximation rows[] = {
      {"ex2.approx.f32", [](double v) { return std::exp2(v); }, -20, 20, 2.4e-7, 0},
      {"ex2.approx.ftz.f32", [](double v) { return std::exp2(v); }, -20, 20, 2.4e-7, 0},
      {"lg2.approx.f32", [](double v) { return std::log2(v); }, 0.01, 100, 2.4e-7, 2e-7},
      {"lg2.approx.ftz.f32", [](double v) { return std::log2(v); }, 0.01, 100, 2.4e-7, 2e-7},
      {"rcp.approx.f32", [](double v) { return 1 / v; }, 0.01, 100, 1.2e-7, 0},
      {"rcp.approx.ftz.f32", [](double v) { return 1 / v; }, 0.01, 100, 1.2e-7, 0},
      {"rsqrt.approx.f32", [](double v) { return 1 / std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"rsqrt.approx.ftz.f32", [](double v) { return 1 / std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sqrt.approx.f32", [](double v) { return std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sqrt.approx.ftz.f32", [](double v) { return std::sqrt(v); }, 0.01, 100, 2.4e-7, 0},
      {"sin.approx.f32", [](double v) { return std::sin(v); }, -3.14, 3.14, 0, 4e-7},
      {"sin.approx.ftz.f32", [](double v) { return std::sin(v); }, -3.14, 3.14, 0, 4e-7},
      {"cos.approx.f32", [](double v) { return std::cos(v); }, -3.14, 3.14, 0, 4e-7},
      {"cos.approx.ftz.f32", [](double v) { return std::cos(v); }, -3.14, 3.14, 0, 4e-7},
      {"tanh.approx.f32", [](double v) { return std::tanh(v); }, -5, 5, 5e-4, 0},
  };
  for (const Approximation& row : rows) {
    INFO(row.form);
    std::vector<float> a(points);
    for (int i = 0; i < points; ++i)
      a[static_cast<std::size_t>(i)] = static_cast<float>(row.low + (row.high - row.low) * (i + 0.5) / points);
    Device d;
    const auto ia = d.input("a", a), io = d.output("o", points * sizeof(float));
    const auto report =
        d.run(module_of(kernel_of(row.form)), "approximation", {1}, {points}, 0, Device::Pointer{ia}, Device::Pointer{io});
    REQUIRE(faults_of(report) == "");
    const auto o = d.values<float>(io);
    for (std::size_t i = 0; i < points; ++i) {
      const double want = row.exact(static_cast<double>(a[i]));
      REQUIRE(std::fabs(static_cast<double>(o[i]) - want) <= row.relative * std::fabs(want) + row.absolute);
    }
  }
}
