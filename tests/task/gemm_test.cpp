#include <cupilot/parts/gemm.hpp>

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("words become a gemm") {
  const auto spec =
      gemm_spec_from({"m=4096", "n=17", "k=3", "dtype=bf16", "out=fp32", "layout=tn", "alpha=0.5",
                      "beta=-1", "bias=1", "act=gelu", "batch=2", "precision=fp32-strict"});
  REQUIRE(spec);
  CHECK(spec->m == 4096);
  CHECK(spec->n == 17);
  CHECK(spec->batch == 2);
  CHECK(spec->dtype == DType::bf16);
  CHECK(spec->out == DType::f32);
  CHECK(spec->precision == Precision::fp32_strict);
  CHECK(spec->layout == "tn");
  CHECK(spec->alpha == 0.5);
  CHECK(spec->beta == -1.0);
  CHECK(spec->bias);
  CHECK(spec->act == Activation::gelu);
}

TEST_CASE("ways to emulate fp32 are words for its class") {
  for (const char* word : {"precision=tf32x3", "precision=bf16x6", "precision=fp32-emulated"}) {
    const auto spec = gemm_spec_from({word});
    REQUIRE(spec);
    CHECK(spec->precision == Precision::fp32_emulated);
  }
  CHECK_FALSE(gemm_spec_from({"precision=tf32x3", "dtype=bf16"}));
}

TEST_CASE("a bad word is named with its reason and the way out") {
  struct Case {
    std::vector<std::string> words;
    const char* message;
    const char* hint;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {{"m=0"}, "m=0 is below 1", "whole numbers from 1"},
      {{"m=-1"}, "m=-1 is below 1", "whole numbers from 1"},
      {{"m=1e12"}, "m=1e12 is not a whole number", "4096"},
      {{"m=1.5"}, "is not a whole number", "4096"},
      {{"m="}, "m= is not a whole number", "4096"},
      {{"m=4096 "}, "is not a whole number", "4096"},
      {{"m=99999999999999999999"}, "does not fit 64 bits", "whole numbers"},
      {{"m=1000000000000", "n=1000000000000"}, "tensor 'A': more than 2^47 bytes", "smaller"},
      {{"m=1000000000000"}, "more than 2^47 bytes", "smaller"},
      {{"m=9223372036854775807", "n=9223372036854775807"}, "more than 2^47 bytes", "smaller"},
      {{"m=4000000", "n=4000000", "k=4000000"}, "work.flops", "expr.md"},
      {{"dtype=fp7"}, "dtype=fp7 is no known type", "fp32, bf16, fp16"},
      {{"dtype=i32"}, "dtype=i32 is not a type gemm takes", "fp32, bf16, fp16"},
      {{"out=e4m3"}, "out=e4m3 is not a type gemm takes", "fp32, bf16, fp16"},
      {{"layout=xy"}, "layout=xy is unknown", "nn, nt, tn, tt"},
      {{"layout=n"}, "layout=n is unknown", "nn, nt, tn, tt"},
      {{"act=rele"}, "act=rele is unknown; nearest: relu", "sigmoid"},
      {{"precision=fp31"}, "nearest: ", "tf32"},
      {{"precision=tf32", "dtype=bf16"},
       "precision=tf32 cannot be had with dtype=bf16",
       "bf16, fp32-strict"},
      {{"precision=bf16", "dtype=fp16"}, "cannot be had with dtype=fp16", "fp16"},
      {{"precision=fp64"}, "precision=fp64 is unknown", "fp32-strict"},
      {{"alpha=nan"}, "alpha=nan is not a finite number", "0.5"},
      {{"alpha=1e300"}, "does not fit fp32", "fp32"},
      {{"beta=x"}, "beta=x is not a finite number", "0.5"},
      {{"bias=2"}, "bias=2 is neither true nor false", "bias=1"},
      {{"scale=row", "dtype=e4m3"}, "scale=row is unknown", "none, tensor, block"},
      {{"scale=block"}, "scale=block is of 8-bit operands, dtype is fp32", "dtype=e4m3"},
      {{"precision=fp8-promoted"}, "cannot be had with dtype=fp32", "tf32"},
      {{"detype=bf16"}, "unknown key 'detype'; nearest: dtype", "precision"},
      {{"M=3"}, "unknown key 'M'", "keys: m, n, k"},
      {{"=3"}, "unknown key ''", "keys"},
      {{"512"}, "'512' is not of the form key=value", "keys"},
      {{"m=1", "m=2"}, "m is given twice", "once"},
      {{std::string("m=\x1b[31m")}, "m=?[31m is not a whole number", "4096"},
  }));
  INFO(c.words[0]);
  const auto spec = gemm_spec_from(c.words);
  REQUIRE_FALSE(spec);
  CHECK(spec.error().code == ErrorCode::usage);
  CHECK_THAT(spec.error().message, Catch::Contains(c.message));
  CHECK_THAT(spec.error().hint, Catch::Contains(c.hint));
}

TEST_CASE("the task follows its words") {
  GemmSpec spec{.m = 5, .n = 7, .k = 11};
  const auto plain = gemm_task(spec);
  REQUIRE(plain);
  CHECK(find_tensor(*plain, "C") == nullptr);
  CHECK(find_tensor(*plain, "bias") == nullptr);
  CHECK(plain->constants.at("BATCHED") == 0);
  CHECK(plain->precision == Precision::fp32_strict);
  CHECK(*textbook_flops(*plain, plain->time_shapes[0]) == 2 * 5 * 7 * 11);
  CHECK(*compulsory_bytes(*plain, plain->time_shapes[0]) == 4 * (5 * 11 + 11 * 7 + 5 * 7));
  CHECK(plain->check_shapes.size() >= 3);

  spec = {.m = 5,
          .n = 7,
          .k = 11,
          .batch = 3,
          .dtype = DType::bf16,
          .out = DType::f32,
          .layout = "tt",
          .alpha = 2,
          .beta = 1};
  spec.bias = true;
  spec.act = Activation::silu;
  const auto full = gemm_task(spec);
  REQUIRE(full);
  const Constants want = {{"TRANS_A", 1},  {"TRANS_B", 1},   {"BATCHED", 1}, {"HAS_C", 1},
                          {"HAS_BIAS", 1}, {"HAS_ALPHA", 1}, {"ACT", 3}};
  CHECK(full->constants == want);
  CHECK(full->precision == Precision::bf16);
  const Workload& shape = full->time_shapes[0];
  CHECK(shape_of(*full, *find_tensor(*full, "A"), shape)->extents ==
        std::vector<std::int64_t>{3, 11, 5});
  CHECK(shape_of(*full, *find_tensor(*full, "B"), shape)->extents ==
        std::vector<std::int64_t>{3, 7, 11});
  CHECK(find_tensor(*full, "A")->type == DType::bf16);
  CHECK(find_tensor(*full, "C")->type == DType::f32);
  CHECK(*compulsory_bytes(*full, shape) == 2 * 3 * (5 * 11 + 11 * 7) + 4 * (2 * 3 * 5 * 7 + 7));
}

TEST_CASE("the scalar is the fp32 number a kernel gets") {
  const auto task = gemm_task({.alpha = 0.1});
  REQUIRE(task);
  CHECK(task->scalars[0].value == static_cast<double>(0.1f));
}

TEST_CASE("an id changes with anything that matters and with nothing else") {
  const std::string base = task_id(*gemm_task({}));
  CHECK(base.size() == 64);
  CHECK(task_id(*gemm_task({})) == base);
  for (const GemmSpec& other :
       {GemmSpec{.m = 1025}, GemmSpec{.batch = 2}, GemmSpec{.dtype = DType::bf16},
        GemmSpec{.layout = "nt"}, GemmSpec{.alpha = 2}, GemmSpec{.beta = 1}, GemmSpec{.bias = true},
        GemmSpec{.act = Activation::relu}, GemmSpec{.precision = Precision::tf32},
        GemmSpec{.out = DType::bf16}}) {
    CHECK(task_id(*gemm_task(other)) != base);
  }
  Task moved = *gemm_task({});
  moved.reference.file = "elsewhere.cu";
  CHECK(task_id(moved) == base);
}

}  // namespace
}  // namespace cupilot
