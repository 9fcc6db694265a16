// The rule by root mean squares on errors that are known.
#include "verify/rms.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

namespace cupilot::testing {
namespace {

constexpr double unit = 0x1p-24;

struct Output {
  std::vector<double> want, err0, got;
  std::int64_t line = 32;

  RmsVerdict judged() const { return judge_by_rms({want, err0, line, 8 * unit, 0x1p-120}, got); }
};

// Eight lines; honest errors of 100 units, the kernel's as large as `times` of these.
Output with_errors(double times, std::int64_t line = 32) {
  Output out;
  out.line = line;
  for (int i = 0; i < 256; ++i) {
    const double sign = i % 3 == 0 ? -1.0 : 1.0;
    out.want.push_back(sign * (1.0 + i % 7));
    out.err0.push_back(100 * unit * (1 + i % 2));
    out.got.push_back(out.want.back() + sign * times * out.err0.back());
  }
  return out;
}

TEST_CASE("errors pass up to twice the honest ones of the whole") {
  for (const std::int64_t line : {1, 4, 32, 100, 256}) {
    CHECK(with_errors(0, line).judged().ok);
    CHECK(with_errors(1, line).judged().ok);
    CHECK(with_errors(2, line).judged().ok);
    const RmsVerdict wrong = with_errors(3, line).judged();
    CHECK_FALSE(wrong.ok);
    CHECK(wrong.first == -1);
    CHECK(wrong.measure == "rms");
  }
}

TEST_CASE("elements that no honest execution leaves finite are told not to be looked at") {
  for (const std::size_t left : {std::size_t{256}, std::size_t{20}, std::size_t{0}}) {
    Output output = with_errors(1);
    for (std::size_t i = left; i < output.err0.size(); ++i)
      output.err0[i] = std::numeric_limits<double>::infinity();
    CHECK(output.judged().ok);
    CHECK(output.judged().looked_at == static_cast<std::int64_t>(left));
  }
}

TEST_CASE("a line may err four times as much, an element eight times") {
  const auto spoilt = [](double times, int first, int count) {
    Output out = with_errors(0.5);
    for (int i = first; i < first + count; ++i)
      out.got[static_cast<std::size_t>(i)] += times * out.err0[static_cast<std::size_t>(i)];
    return out.judged();
  };
  CHECK(spoilt(3, 64, 32).ok);
  const RmsVerdict line = spoilt(5, 64, 32);
  CHECK_FALSE(line.ok);
  CHECK(line.first == 64);
  CHECK(line.count == 32);
  CHECK(spoilt(7, 65, 1).ok);
  const RmsVerdict element = spoilt(40, 65, 1);
  CHECK_FALSE(element.ok);
  CHECK(element.first == 64);
}

TEST_CASE("a line on which honest executions happen to err little may err as others do") {
  Output out = with_errors(1, 16);
  for (std::size_t i = 32; i < 48; ++i) {
    const double usual = out.err0[i];
    out.err0[i] /= 64;
    out.got[i] = out.want[i] + usual;
  }
  CHECK(out.judged().ok);
  for (std::size_t i = 32; i < 48; ++i) out.got[i] = out.want[i] + 900 * unit * (1 + i % 2);
  CHECK_FALSE(out.judged().ok);
  CHECK(out.judged().first == 32);
}

TEST_CASE("one element of sixteen, with the largest honest error, outweighs no others") {
  Output out = with_errors(1);
  out.err0[7] = 1e6 * unit;
  out.got[7] = out.want[7] + 3e6 * unit;
  CHECK(out.judged().ok);
  out.got[7] = out.want[7] + 9e6 * unit;
  CHECK(out.judged().measure == "largest");
  CHECK_FALSE(out.judged().ok);
  // The others are held to their own size all the same.
  Output hidden = with_errors(3);
  hidden.err0[7] = 1e6 * unit;
  CHECK_FALSE(hidden.judged().ok);
}

TEST_CASE("what no honest execution can tell grants what one operation may err") {
  Output out = with_errors(0);
  for (double& error : out.err0) error = 0;
  for (std::size_t i = 0; i < out.got.size(); ++i) out.got[i] = out.want[i] * (1 + 7 * unit);
  CHECK(out.judged().ok);
  for (std::size_t i = 0; i < out.got.size(); ++i) out.got[i] = out.want[i] * (1 + 20 * unit);
  CHECK_FALSE(out.judged().ok);
}

TEST_CASE("an element that is no number is wrong where the honest ones are finite") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf}) {
    Output out = with_errors(1);
    out.got[100] = bad;
    CHECK_FALSE(out.judged().ok);
    out.err0[100] = inf;
    CHECK(out.judged().ok);
  }
}

}  // namespace
}  // namespace cupilot::testing
