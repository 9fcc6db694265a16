#include "trusted/storage.cuh"

#include <cmath>
#include <cupilot/parts/dtype.hpp>
#include <cupilot/rng.hpp>

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("every narrow value survives decode and encode") {
  for (const int type : {storage_bf16, storage_f16, storage_e4m3, storage_e5m2}) {
    const unsigned count = 1u << (8 * storage_bytes(type));
    for (unsigned bits = 0; bits < count; ++bits) {
      const double value = decode(bits, type);
      if (is_nan(value)) continue;
      if (encode(value, type) != bits)
        FAIL("type " << type << " bits " << bits << " value " << value);
    }
  }
  SUCCEED();
}

TEST_CASE("encoding takes the nearest value, ties to even") {
  for (const int type : {storage_bf16, storage_f16, storage_e4m3, storage_e5m2}) {
    const unsigned top = static_cast<unsigned>(encode(largest_of(type), type));
    CHECK(decode(top, type) == largest_of(type));
    Rng rng(static_cast<std::uint64_t>(type));
    for (int i = 0; i < 3000; ++i) {
      const auto low = static_cast<unsigned>(rng.below(top));
      const double a = decode(low, type), b = decode(low + 1, type);
      const double middle = a + (b - a) / 2;  // exact: one bit more
      const unsigned even = (low & 1) == 0 ? low : low + 1;
      if (encode(middle, type) != even) FAIL("tie above " << a << " of type " << type);
      // fp32 stands between, so the step off the tie is one of fp32.
      const double above =
          static_cast<double>(std::nextafter(static_cast<float>(middle), INFINITY));
      const double below =
          static_cast<double>(std::nextafter(static_cast<float>(middle), -INFINITY));
      if (below > a && encode(below, type) != low)
        FAIL("below the tie above " << a << " of type " << type);
      if (above < b && encode(above, type) != low + 1)
        FAIL("above the tie above " << a << " of type " << type);
    }
  }
  SUCCEED();
}

TEST_CASE("infinities, NaN, overflow and signs") {
  struct Case {
    int type;
    double value;
    std::uint64_t bits;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {storage_f32, 1.0, 0x3F800000},
      {storage_bf16, 1.0, 0x3F80},
      {storage_bf16, -0.0, 0x8000},
      {storage_bf16, 3.4e38, 0x7F80},
      {storage_f16, 65504.0, 0x7BFF},
      {storage_f16, 65519.0, 0x7BFF},
      {storage_f16, 65520.0, 0x7C00},
      {storage_f16, -INFINITY, 0xFC00},
      {storage_f16, 0x1p-24, 1},
      {storage_f16, 0x1p-25, 0},
      {storage_f16, 0x1.8p-25, 1},
      {storage_e4m3, 448.0, 0x7E},
      {storage_e4m3, 500.0, 0x7F},
      {storage_e4m3, INFINITY, 0x7F},
      {storage_e5m2, 57344.0, 0x7B},
      {storage_e5m2, 1e6, 0x7C},
      {storage_e5m2, 0x1p-16, 1},
      {storage_bool, 0.5, 1},
      {storage_i8, -3.0, 0xFFFFFFFFFFFFFFFD},
      {storage_i32, 7.9, 7},
      {storage_f64, 0.1, 0x3FB999999999999A},
  }));
  INFO(c.type << " " << c.value);
  CHECK(encode(c.value, c.type) == c.bits);
}

TEST_CASE("NaN stays NaN in every float type") {
  for (const int type :
       {storage_f64, storage_f32, storage_bf16, storage_f16, storage_e4m3, storage_e5m2}) {
    CHECK(is_nan(decode(encode(NAN, type), type)));
  }
}

TEST_CASE("memory round trip of every type") {
  for (int type = storage_f64; type <= storage_bool; ++type) {
    CHECK(storage_bytes(type) == size_of(static_cast<DType>(type)));
    unsigned char memory[32] = {};
    store_bits(memory, 2, type, encode(1.0, type));
    CHECK(load_real(memory, 2, type) == 1.0);
    CHECK(load_real(memory, 1, type) == 0.0);
  }
  unsigned char memory[8] = {};
  store_bits(memory, 1, storage_i16, encode(-5.0, storage_i16));
  CHECK(load_integer(memory, 1, storage_i16) == -5);
}

}  // namespace
}  // namespace cupilot
