// Content whose sums are exact, and the bound that counts in its units.
#include <cmath>
#include <set>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

TEST_CASE(
    "the operands of a product are integers of a unit each, full significands in either one") {
  std::set<double> units;
  std::set<std::size_t> wide_ones;
  const Task task = *gemm_task({.m = 24, .n = 24, .k = 24, .precision = Precision::fp32_strict});
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const Content content{.seed = seed, .kind = ContentKind::integers};
    double product = 1;
    for (const std::size_t tensor : {0u, 1u}) {
      const FillParams p = *fill_params(task, tensor, task.time_shapes[0], content);
      product *= p.unit;
      units.insert(p.unit);
      if (p.wide != 0) wide_ones.insert(tensor);
      double most = 0;
      for (std::int64_t i = 0; i < p.elements; ++i) {
        const double x = decode(fill_bits(p, i), p.type) / p.unit;
        REQUIRE(x == std::rint(x));
        REQUIRE((p.wide != 0 || std::abs(x) == 3));
        most = std::max(most, std::abs(x));
      }
      CHECK((most > 2048) == (p.wide != 0));
      CHECK(most * p.unit <= 8);
      CHECK(most * p.unit >= 0.375);
    }
    const BoundParams bound =
        *bound_params(task, task.tensors.size() - 1, task.time_shapes[0], content);
    CHECK(bound.exact_scale == 1 / product);
    // A sum of the products is exact; between two of what they may make nothing is right, however
    // far the bound reaches.
    const double want = 1e6 * product;
    CHECK(judge_element(bound, bits_of(static_cast<float>(want)), want, -want).ok);
    CHECK_FALSE(
        judge_element(bound, bits_of(static_cast<float>(want + 0.5 * product)), want, -want).ok);
  }
  CHECK(units == std::set<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-9, 0x1p-10, 0x1p-11});
  CHECK(wide_ones.size() == 2);
  // What a reference of the user's multiplies is not known.
  Task own = task;
  own.reference.text += " ";
  CHECK(fill_params(own, 0, own.time_shapes[0], {.kind = ContentKind::integers})->unit == 1);
  CHECK(fill_params(own, 0, own.time_shapes[0], {.kind = ContentKind::integers})->wide == 1);
  CHECK(
      bound_params(own, own.tensors.size() - 1, own.time_shapes[0], {.kind = ContentKind::integers})
          ->exact_scale == 1);
}

}  // namespace
}  // namespace cupilot
