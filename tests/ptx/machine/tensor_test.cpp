// Tensor-core kernels: asynchronous copies, matrix loads, mma, and the rounding of the sums.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "catch.hpp"
#include "ptx/lanes/set.hpp"
#include "ptx/machine/runner.hpp"
#include "ptx/machine/tensor_text.hpp"
#include "support/reached.hpp"

using namespace support;
using cupilot::Counter;
using P = Device::Pointer;

namespace {

const std::string& gemm = mma_gemm;

std::uint16_t bf16_of(float v) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16);
}
float of_bf16(std::uint16_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16); }

std::vector<std::uint16_t> random_bf16(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<std::uint16_t> out(n);
  for (auto& v : out) v = bf16_of(draw(generator));
  return out;
}

struct GemmRun {
  ptx::Report report;
  std::vector<float> d;
};
GemmRun run_gemm(const std::string& text, int m, int n, int k, const std::vector<std::uint16_t>& a,
                 const std::vector<std::uint16_t>& b) {
  Device d;
  const auto ia = d.input("A", a), ib = d.input("B", b),
             id = d.output("D", static_cast<std::size_t>(m * n) * 4);
  auto report = d.run(module_of_cuda(text), "gemm",
                      {static_cast<unsigned>(n) / 64, (static_cast<unsigned>(m) + 63) / 64}, {128},
                      3 * 2 * 64 * 32 * 2, P{ia}, P{ib}, P{id}, m, n, k);
  return {std::move(report), d.values<float>(id)};
}

// One dot product by the rule measured on an H200, written apart from the interpreter's: long
// double holds every term.
float tensor_dot(const std::vector<double>& products, const std::vector<int>& exponents, float c) {
  int highest = c == 0 ? -100000 : std::ilogb(c);
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (products[i] != 0) highest = std::max(highest, exponents[i]);
  }
  if (highest == -100000) return 0;
  const auto cut = [&](double v) { return std::trunc(std::ldexp(v, 25 - highest)); };
  double sum = cut(static_cast<double>(c));
  for (double p : products) sum += cut(p);
  if (sum == 0) return 0;
  const int top = std::ilogb(sum);
  const double kept = top > 23 ? std::ldexp(std::trunc(std::ldexp(sum, 23 - top)), top - 23) : sum;
  return static_cast<float>(std::ldexp(kept, highest - 25));
}

}  // namespace

TEST_CASE("a pipelined bf16 GEMM is exact where the sums are", "[tensor]") {
  const int m = 100, n = 64, k = 96;
  std::vector<std::uint16_t> a(m * k), b(k * n);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = bf16_of(static_cast<float>(static_cast<int>(i * 7 % 13) - 6));
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = bf16_of(static_cast<float>(static_cast<int>(i * 5 % 11) - 5));
  const auto [report, d] = run_gemm(gemm, m, n, k, a, b);
  REQUIRE(faults_of(report) == "");
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float s = 0;
      for (int q = 0; q < k; ++q) s += of_bf16(a[i * k + q]) * of_bf16(b[q * n + j]);
      REQUIRE(d[i * n + j] == s);
    }
  }
  CHECK(report.counts[Counter::ops_tensor_bf16].value == 2.0 * 128 * 64 * 96);
  CHECK(report.counts[Counter::async_copy_bytes].value == (100.0 * 96 + 2 * 96 * 64) * 2);
  CHECK(report.counts[Counter::shared_conflicts].value == 0);
  CHECK(report.independent);
}

TEST_CASE("a bf16 GEMM rounds as the tensor core does", "[tensor]") {
  const int m = 64, n = 64, k = 64;
  const auto a = random_bf16(m * k, 1), b = random_bf16(k * n, 2);
  GemmRun made;
  for (const ptx::LaneSet set : ptx::lane_sets()) {
    ptx::prefer(set);
    GemmRun next = run_gemm(gemm, m, n, k, a, b);
    REQUIRE((made.d.empty() || made.d == next.d));
    made = std::move(next);
  }
  const auto& [report, d] = made;
  REQUIRE(faults_of(report) == "");
  int differs_from_float = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float c = 0, plain = 0;
      for (int k0 = 0; k0 < k; k0 += 16) {
        std::vector<double> products;
        std::vector<int> exponents;
        for (int q = k0; q < k0 + 16; ++q) {
          const float x = of_bf16(a[i * k + q]), y = of_bf16(b[q * n + j]);
          products.push_back(static_cast<double>(x) * y);
          exponents.push_back(std::ilogb(x) + std::ilogb(y));
          plain = std::fma(x, y, plain);
        }
        c = tensor_dot(products, exponents, c);
      }
      REQUIRE(std::bit_cast<std::uint32_t>(d[i * n + j]) == std::bit_cast<std::uint32_t>(c));
      differs_from_float += d[i * n + j] != plain ? 1 : 0;
    }
  }
  CHECK(differs_from_float > 100);  // the test can tell the two apart
}

TEST_CASE("reading shared memory before its asynchronous copy was waited for is a race",
          "[tensor][faults]") {
  const auto a = random_bf16(64 * 64, 1);
  for (const char* wait : {"", "asm volatile(\"cp.async.wait_group 2;\")"}) {
    const auto [report, d] =
        run_gemm("#define WAIT " + std::string(wait) + "\n" + gemm, 64, 64, 64, a, a);
    REQUIRE(report.faults.size() > 0);
    cupilot::testing::expect_code(report.faults[0].code, "run.race");
    CHECK(report.faults[0].message.find("asynchronous copy") != std::string::npos);
  }
}

TEST_CASE("the other mma types against exact sums", "[tensor]") {
  // Small integers: every product and sum is exact, so only the layouts are in question.
  const std::string text = R"(
typedef unsigned u32; typedef unsigned short u16;
#define MMA(name, shape, types, AR, BR)                                                                                    \
  extern "C" __global__ void name(const u32* a, const u32* b, float* d) {                                                  \
    int l = threadIdx.x; float c0 = 1, c1 = 2, c2 = 3, c3 = 4; u32 A[4] = {}, B[2] = {};                                   \
    for (int i = 0; i < AR; ++i) A[i] = a[l * AR + i]; for (int i = 0; i < BR; ++i) B[i] = b[l * BR + i];                  \
    body_##AR##_##BR(shape, types)                                                                                         \
    d[l * 4] = c0; d[l * 4 + 1] = c1; d[l * 4 + 2] = c2; d[l * 4 + 3] = c3;                                                \
  }
#define body_4_2(shape, types) asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
#define body_2_1(shape, types) asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(A[0]), "r"(A[1]), "r"(B[0]));
MMA(half16, "m16n8k16", "f32.f16.f16.f32", 4, 2)
MMA(half8, "m16n8k8", "f32.f16.f16.f32", 2, 1)
MMA(brain8, "m16n8k8", "f32.bf16.bf16.f32", 2, 1)
MMA(tf8, "m16n8k8", "f32.tf32.tf32.f32", 4, 2)
MMA(tf4, "m16n8k4", "f32.tf32.tf32.f32", 2, 1)
)";
  struct Row {
    const char* name;
    int k, bits;
    bool bf16;
  };
  const auto encode = [](int v, const Row& row) -> std::uint32_t {
    const auto f = std::bit_cast<std::uint32_t>(static_cast<float>(v));
    if (row.bits == 32) return f;
    if (row.bf16) return f >> 16;
    return v == 0 ? 0
                  : ((f >> 16) & 0x8000u) | ((((f >> 23) & 255) - 112) << 10) | ((f >> 13) & 1023);
  };
  for (const Row& row : {Row{"half16", 16, 16, false},
                         {"half8", 8, 16, false},
                         {"brain8", 8, 16, true},
                         {"tf8", 8, 32, false},
                         {"tf4", 4, 32, false}}) {
    INFO(row.name);
    const int per = 32 / row.bits, ar = 16 * row.k / 32 / per, br = row.k * 8 / 32 / per;
    std::vector<int> a(16 * row.k), b(row.k * 8);
    std::mt19937 generator(3);
    for (int& v : a) v = static_cast<int>(generator() % 15) - 7;
    for (int& v : b) v = static_cast<int>(generator() % 15) - 7;
    std::vector<std::uint32_t> fa(32 * ar), fb(32 * br);
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int r = 0; r < ar; ++r) {
        for (int e = 0; e < per; ++e)
          fa[lane * ar + r] |=
              encode(a[(g + 8 * (r % 2)) * row.k + t * per + e + (r / 2) * 4 * per], row)
              << (row.bits * e % 32);
      }
      for (int r = 0; r < br; ++r) {
        for (int e = 0; e < per; ++e)
          fb[lane * br + r] |= encode(b[(t * per + e + r * 4 * per) * 8 + g], row)
                               << (row.bits * e % 32);
      }
    }
    Device d;
    const auto ia = d.input("a", fa), ib = d.input("b", fb), id = d.output("d", 512);
    const auto report = d.run(module_of_cuda(text), row.name, {1}, {32}, 0, P{ia}, P{ib}, P{id});
    REQUIRE(faults_of(report) == "");
    const auto out = d.values<float>(id);
    for (int lane = 0; lane < 32; ++lane) {
      for (int r = 0; r < 4; ++r) {
        int s = r + 1;
        for (int q = 0; q < row.k; ++q)
          s += a[(lane / 4 + 8 * (r / 2)) * row.k + q] * b[q * 8 + lane % 4 * 2 + r % 2];
        REQUIRE(out[lane * 4 + r] == static_cast<float>(s));
      }
    }
  }
}
