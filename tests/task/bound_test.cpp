#include "trusted/bound.cuh"

#include <cmath>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

BoundParams within(int type, double per_sum = 0x1p-20) {
  return {.check = check_within,
          .type = type,
          .per_sum = per_sum,
          .per_value = 0x1p-24,
          .tiny = 0x1p-126,
          .relative = 0,
          .absolute = 0,
          .exact_below = 0,
          .exact_scale = 1,
          .splits = 0};
}

TEST_CASE("one element is judged") {
  const double inf = INFINITY, nan = NAN;
  struct Case {
    const char* what;
    int type;
    double got, want, sum;
    bool ok;
  };
  const Case c = GENERATE_COPY(from_range(std::vector<Case>{
      {"equal", storage_f32, 1, 1, 1, true},
      {"inside", storage_f32, 1 + 0x1p-21, 1, 1, true},
      {"outside", storage_f32, 1 + 0x1p-19, 1, 1, false},
      {"cancelled, inside the sum's bound", storage_f32, 0x1p-21, 0, 1, true},
      {"cancelled, outside", storage_f32, 0x1p-19, 0, 1, false},
      {"zero for a value", storage_f32, 0, 1, 1, false},
      {"NaN for a value", storage_f32, nan, 1, 1, false},
      {"infinity for a value", storage_f32, inf, 1, 1, false},
      {"NaN for zero", storage_f32, nan, 0, 0, false},
      {"NaN for infinity", storage_f32, nan, inf, inf, false},
      {"a value for infinity", storage_f32, 3e38, inf, inf, false},
      {"infinity for infinity", storage_f32, inf, inf, inf, true},
      {"wrong infinity", storage_f32, -inf, inf, inf, false},
      {"NaN for NaN", storage_f32, nan, nan, nan, true},
      {"a value for NaN", storage_f32, 1, nan, nan, false},
      {"infinity for NaN", storage_f32, inf, nan, nan, false},
      {"a value that came through NaN", storage_f32, 0, 0, nan, true},
      {"NaN kept where the reference dropped it", storage_f32, nan, 0, nan, true},
      {"another value where NaN was dropped", storage_f32, 1, 0, nan, false},
      {"NaN for what a NaN may stand for", storage_f32, nan, 1, kept_in_nan(4), true},
      {"inside the sum within a NaN", storage_f32, 1 + 0x1p-19, 1, kept_in_nan(4), true},
      {"outside it", storage_f32, 1 + 0x1p-17, 1, kept_in_nan(4), false},
      {"infinity for what a NaN may stand for", storage_f32, inf, 1, kept_in_nan(4), false},
      {"fp16 overflow of a larger value", storage_f16, inf, 70000, 70000, true},
      {"fp16 overflow at the edge", storage_f16, inf, 65519, 65519, false},
      {"fp16 overflow with the wrong sign", storage_f16, -inf, 70000, 70000, false},
      {"infinity for the largest that was computed", storage_f32, inf, 0x1.FFFFFEp127,
       0x1.FFFFFEp127, true},
      {"infinity for the largest that was chosen", storage_f32, inf, 0x1.FFFFFEp127,
       -0x1.FFFFFEp127, false},
      {"flushed denormal", storage_f32, 0, 0x1p-130, 0, true},
      {"lost small normal", storage_f32, 0, 0x1p-100, 0, false},
  }));
  INFO(c.what);
  const Judged judged = judge_element(within(c.type, c.type == storage_f16 ? 0 : 0x1p-20),
                                      encode(c.got, c.type), c.want, c.sum);
  CHECK(judged.ok == c.ok);
  CHECK((judged.ratio <= 1.0) == c.ok);  // also false for a NaN ratio
}

TEST_CASE("a task's own tolerance holds where NaN may stand, too") {
  BoundParams p = within(storage_f32);
  p.check = check_close;
  p.absolute = 0.1;
  for (const double sum : {3.0, kept_in_nan(3.0)}) {
    CHECK(judge_element(p, encode(3.05, storage_f32), 3.0, sum).ok);
    CHECK_FALSE(judge_element(p, encode(3.2, storage_f32), 3.0, sum).ok);
  }
}

TEST_CASE("the other checks") {
  BoundParams p = within(storage_i32);
  p.check = check_bitwise;
  CHECK(judge_element(p, 7, 7, 0).ok);
  CHECK_FALSE(judge_element(p, 8, 7, 0).ok);
  p.type = storage_f32;
  CHECK(judge_element(p, bits_of(0.1f), 0.1, 0).ok);
  CHECK_FALSE(judge_element(p, bits_of(0.1f) + 1, 0.1, 0).ok);
  CHECK(judge_element(p, bits_of(NAN), NAN, 0).ok);
  CHECK_FALSE(judge_element(p, bits_of(-0.0f), 0.0, 0).ok);
  p.check = check_close;
  p.relative = 0.01;
  p.absolute = 0;
  CHECK(judge_element(p, bits_of(1.005f), 1, 1e9).ok);
  CHECK_FALSE(judge_element(p, bits_of(1.02f), 1, 1e9).ok);
  CHECK_FALSE(judge_element(p, bits_of(NAN), 1, 1e9).ok);
  p.check = check_index_of;
  CHECK(judge_element(p, bits_of(3.5), 3.5, 0).ok);
  CHECK_FALSE(judge_element(p, bits_of(3.25), 3.5, 0).ok);
  CHECK_FALSE(judge_element(p, bits_of(std::nan("")), 3.5, 0).ok);
}

TEST_CASE("numbers of a gemm's bound") {
  struct Case {
    const char* what;
    GemmSpec spec;
    double per_sum, per_value;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"strict", {.k = 4096}, 512 * 0x1p-24, 0x1p-24},
      {"bf16", {.k = 4096, .dtype = DType::bf16}, (512 + 1024) * 0x1p-24, 0x1p-8},
      {"bf16 into fp32",
       {.k = 4096, .dtype = DType::bf16, .out = DType::f32},
       (512 + 1024) * 0x1p-24,
       0x1p-24},
      {"fp16 held strictly",
       {.k = 64, .dtype = DType::f16, .precision = Precision::fp32_strict},
       64 * 0x1p-24,
       0x1p-11},
      {"tf32", {.k = 64, .precision = Precision::tf32}, (64 + 32) * 0x1p-24 + 0x1p-9, 0x1p-24},
      {"emulated",
       {.k = 64, .precision = Precision::fp32_emulated},
       (64 + 96) * 0x1p-24 + 0x1p-21,
       0x1p-24},
  }));
  INFO(c.what);
  const Task task = *gemm_task(c.spec);
  const auto bound = bound_params(task, task.tensors.size() - 1, task.time_shapes[0], {});
  REQUIRE(bound);
  CHECK(bound->per_sum == Approx(c.per_sum).epsilon(1e-12));
  CHECK(bound->per_value == c.per_value);
}

TEST_CASE("arithmetic in a narrow type is granted its roundoff") {
  Task task = *gemm_task({.k = 4, .dtype = DType::bf16});
  Check& check = task.tensors.back().check;
  const auto per_sum = [&] {
    return bound_params(task, task.tensors.size() - 1, task.time_shapes[0], {})->per_sum;
  };
  const double wide = per_sum();
  check.arithmetic = DType::bf16;
  CHECK(per_sum() == Approx(0x1p16 * wide).epsilon(1e-12));
  check.arithmetic = DType::f16;
  CHECK(per_sum() == Approx(0x1p13 * wide).epsilon(1e-12));
  const auto again = task_from_json(*task_to_json(task), "again");
  REQUIRE(again);
  CHECK(again->tensors.back().check.arithmetic == DType::f16);
}

}  // namespace
}  // namespace cupilot
