#include <cupilot/parts/dtype.hpp>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("type names read back, aliases too", "[dtype]") {
  struct Case {
    const char* text;
    std::optional<DType> want;
  };
  const Case cases[] = {{"fp32", DType::f32},  {"f32", DType::f32},      {"float", DType::f32},
                        {"bf16", DType::bf16}, {"fp16", DType::f16},     {"half", DType::f16},
                        {"f64", DType::f64},   {"fp64", DType::f64},     {"e4m3", DType::e4m3},
                        {"i64", DType::i64},   {"bool", DType::boolean}, {"fp7", std::nullopt},
                        {"", std::nullopt},    {"FP32", std::nullopt},   {"f8", std::nullopt}};
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(dtype_from(c.text) == c.want);
  }
}

TEST_CASE("sizes and unit roundoffs", "[dtype]") {
  CHECK(size_of(DType::f64) == 8);
  CHECK(size_of(DType::bf16) == 2);
  CHECK(size_of(DType::e5m2) == 1);
  CHECK(unit_roundoff(DType::f32) == 0x1.0p-24);
  CHECK(unit_roundoff(DType::bf16) == 0x1.0p-8);
  CHECK(unit_roundoff(DType::f16) == 0x1.0p-11);
  CHECK(unit_roundoff(DType::i32) == 0.0);
}

TEST_CASE("which class may stand for which is a partial order", "[dtype]") {
  const Precision all[] = {Precision::fp64,   Precision::fp32_strict,  Precision::fp32_emulated,
                           Precision::bf16x3, Precision::tf32,         Precision::fp16,
                           Precision::bf16,   Precision::fp8_promoted, Precision::fp8,
                           Precision::integer};
  for (const Precision a : all) {
    CHECK(satisfies(a, a));
    for (const Precision b : all) {
      if (a != b && satisfies(a, b)) CHECK_FALSE(satisfies(b, a));
      for (const Precision c : all) {
        INFO(name_of(a) << " " << name_of(b) << " " << name_of(c));
        if (satisfies(a, b) && satisfies(b, c)) CHECK(satisfies(a, c));
      }
    }
  }
  CHECK_FALSE(satisfies(Precision::fp16, Precision::bf16));
  CHECK_FALSE(satisfies(Precision::bf16, Precision::fp16));
  CHECK_FALSE(satisfies(Precision::tf32, Precision::fp32_strict));
  CHECK_FALSE(satisfies(Precision::fp32_emulated, Precision::fp32_strict));
  CHECK(satisfies(Precision::fp32_strict, Precision::tf32));
  CHECK(satisfies(Precision::fp8_promoted, Precision::fp8));
}

TEST_CASE("class names read back", "[dtype]") {
  CHECK(precision_from("fp32-strict") == Precision::fp32_strict);
  CHECK(precision_from("tf32") == Precision::tf32);
  CHECK_FALSE(precision_from("fp32"));
}
