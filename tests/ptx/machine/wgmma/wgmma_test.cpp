// Products of warpgroups: a warp-specialised GEMM, what happens when one of its orderings is
// missing, and what wgmma refuses.
#include <bit>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "ptx/machine/tensor_text.hpp"
#include "support/sanitized.hpp"

using namespace support;
using cupilot::Counter;
using P = Device::Pointer;

namespace {

std::uint16_t bf16_of(float v) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16);
}

struct Outcome {
  ptx::Report report;
  bool right = false;
};

// Small integers: every sum is exact, so any order of adding gives the same bits.
Outcome run(const std::string& text, bool late, int m = 128, int n = 128, int k = 448,
            std::uint64_t seed = 0, std::uint32_t swizzle = 128) {
  std::mt19937 generator(5);
  const auto draw = [&](std::size_t count) {
    std::vector<int> out(count);
    for (int& v : out) v = static_cast<int>(generator() % 9) - 4;
    return out;
  };
  const auto encode = [](const std::vector<int>& from) {
    std::vector<std::uint16_t> out;
    for (const int v : from) out.push_back(bf16_of(static_cast<float>(v)));
    return out;
  };
  const std::vector<int> a = draw(static_cast<std::size_t>(m) * k),
                         b = draw(static_cast<std::size_t>(n) * k);
  Device d;
  d.options.late = late;
  d.options.seed = seed;
  d.options.instruction_budget = 2'000'000;
  d.options.max_faults = 1;
  const auto ia = d.input("A", encode(a)), ib = d.input("B", encode(b)),
             id = d.output("D", static_cast<std::size_t>(m) * n * 4);
  const ptx::TensorMap ma = rows_along_k(d.memory.address(ia), m, k, swizzle),
                       mb = rows_along_k(d.memory.address(ib), n, k, swizzle);
  Outcome out;
  out.report =
      d.run(module_of_cuda(text), "gemm",
            {static_cast<unsigned>(n) / gemm_columns, static_cast<unsigned>(m) / gemm_rows},
            {gemm_threads}, gemm_shared, ma, mb, P{id}, n, k);
  if (!out.report.faults.empty()) return out;
  const auto got = d.values<float>(id);
  out.right = true;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int q = 0; q < k; ++q)
        sum += a[static_cast<std::size_t>(i * k + q)] * b[static_cast<std::size_t>(j * k + q)];
      out.right = out.right && got[static_cast<std::size_t>(i * n + j)] == static_cast<float>(sum);
    }
  }
  return out;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = warp_specialised_gemm;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

struct Mutant {
  const char* from;
  const char* to;
  const char* codes;  // one of which the fault has; "": a wrong result will do
};
const Mutant mutants[] = {
    {"    multiply_fence();\n", "", "run.race"},
    {"    multiply_fence();\n    for",
     "    if (i == 0) multiply_fence();\n    sum[5] += 0.0f;\n    for", "run.race"},
    {"    multiply_commit();\n", "", "run.race"},
    {"  multiply_wait<0>();\n", "", "run.race"},
    {"  multiply_wait<0>();\n", "  multiply_wait<1>();\n", "run.race"},
    {"    multiply_wait<1>();\n", "", "run.race"},
    {"    multiply_wait<1>();\n", "    multiply_wait<2>();\n", "run.race"},
    {"if (i > 0 && lane == 0) arrive(&empty[(i - 1) % ST]);", "if (lane == 0) arrive(&empty[at]);",
     "run.race"},
    {"if (i > 0 && lane == 0) arrive(&empty[(i - 1) % ST]);", "", "run.hang"},
    {"if (i > 0 && lane == 0) arrive", "if (i > 0 && lane == 0 && warp < 3) arrive", "run.hang"},
    {"if (i > 0 && lane == 0) arrive", "if (i > 0 && lane < 2) arrive", "run.hang run.race"},
    {"init(&empty[i], 8);", "init(&empty[i], 4);", "run.hang run.race"},
    {"init(&empty[i], 8);", "init(&empty[i], 9);", "run.hang"},
    {"init(&full[i], 1);", "init(&full[i], 2);", "run.hang"},
    {"    wait(&full[at], (i / ST) & 1);\n", "", "run.race"},
    {"wait(&full[at], (i / ST) & 1);", "wait(&full[at], (i / ST + 1) & 1);", "run.race run.hang"},
    {"        if (i >= ST) wait(&empty[at], (i / ST - 1) & 1);\n", "", "run.race run.divergence"},
    {"wait(&empty[at], (i / ST - 1) & 1);", "wait(&empty[at], (i / ST) & 1);",
     "run.race run.divergence"},
    {"if (i >= ST) wait", "if (i > ST) wait", "run.race run.divergence"},
    {"        expect(&full[at], BYTES);\n", "", "run.hang"},
    {"expect(&full[at], BYTES);", "expect(&full[at], BYTES / 2);", "run.race"},
    {"expect(&full[at], BYTES);", "expect(&full[at], BYTES + 16);", "run.hang"},
    {"expect(&full[at], BYTES);", "arrive(&full[at]);", "run.race"},
    {"  __syncthreads();\n", "", "run.race run.uninitialised"},
    {"        tile2(s + at * BYTES + BM * BK * 2, &mb, i * BK, column, &full[at]);\n", "",
     "run.hang"},
    {"&mb, i * BK, column, &full[at]", "&mb, i * BK, column, &full[0]", "run.hang run.race"},
    {"(1ull << 62)", "(2ull << 62)", ""},
    {"(64ull << 32)", "(32ull << 32)", ""},
    {"(64ull << 32)", "(2048ull << 32)", "run.out_of_bounds run.race"},
    {"((u64)(sm(p) & 0x3ffff) >> 4)", "((u64)sm(p))", "run.misaligned run.race"},
    {"a + 2 * j, b + 2 * j", "a + 2 * j, b + 4 * j", "run.race run.out_of_bounds"},
    {"i + j != 0", "1", ""},
    {"i + j != 0", "i != 0", ""},
    {"  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");", "  if (t / 32 % 4 == 3) return;",
     "run.hang"},
    {"for (int j = 0; j < BK / 16; ++j) multiply",
     "for (int j = 0; j < BK / 16; ++j) if (j != 2 || warp != 1) multiply", "run.divergence"},
    {"descriptor(s + at * BYTES + (group - 1)", "descriptor(s + at * BYTES + (warp & 1)",
     "run.divergence"},
};

}  // namespace

TEST_CASE("a warp-specialised GEMM of tensor-map copies and wgmma is exact", "[wgmma]") {
  for (const bool late : {false, true}) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      const Outcome out = run(warp_specialised_gemm, late, 256, 128, 448, seed);
      INFO(late << " " << seed);
      REQUIRE(faults_of(out.report) == "");
      CHECK(out.right);
      CHECK(out.report.counts[Counter::ops_tensor_bf16].value == 2.0 * 256 * 128 * 448);
    }
  }
}

TEST_CASE("a warp-specialised GEMM without one of its orderings faults or is wrong",
          "[wgmma][faults]") {
  for (std::size_t i = 0; i < std::size(mutants); i += cupilot::testing::sanitized() ? 3 : 1) {
    const Mutant& mutant = mutants[i];
    INFO(mutant.from << " -> " << mutant.to);
    const std::string text = with(mutant.from, mutant.to);
    for (const bool late : {false, true}) {
      const Outcome out = run(text, late);
      INFO((late ? "late: " : "eager: ") << faults_of(out.report));
      CHECK(!out.right);
      if (mutant.codes[0] == '\0') continue;
      REQUIRE(!out.report.faults.empty());
      CHECK(std::string(mutant.codes).find(out.report.faults[0].code) != std::string::npos);
    }
  }
}

TEST_CASE("tiles of another swizzle than the descriptor's give another product", "[wgmma]") {
  const Outcome out = run(warp_specialised_gemm, false, 128, 128, 128, 0, 0);
  REQUIRE(faults_of(out.report) == "");
  CHECK(!out.right);
}

namespace {

// One product of 64 x 16 by 16 x 8, all ones, with places for what may go wrong around it.
std::string one_product(const std::string& hooks) {
  return hooks + async_text + R"(
#ifndef BEFORE
#define BEFORE
#endif
#ifndef ISSUED
#define ISSUED
#endif
#ifndef WAITED
#define WAITED
#endif
#ifndef START
#define START FENCE_PROXY; __syncthreads(); multiply_fence()
#endif
#ifndef LEADING_A
#define LEADING_A 64
#endif
#ifndef LEADING
#define LEADING 8
#endif
D void multiply_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
D void multiply(float (&d)[4], u64 a, u64 b, int adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(adds)); }
D void multiply(float (&d)[4], u32 (&a)[4], u64 b, int adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, 0; }"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds)); }
D void finish() { asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
K one(float* o) {
  __shared__ __align__(1024) u32 sa[512], sb[64]; int t = threadIdx.x; float d[4] = {0, 0, 0, 0}; u32 r[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
  for (int i = t; i < 512; i += blockDim.x) sa[i] = 0x3f803f80;
  if (t < 64) sb[t] = 0x3f803f80;
  u64 a = (sm(sa) >> 4) | ((u64)(LEADING_A) << 16) | (8ull << 32), b = (sm(sb) >> 4) | ((u64)(LEADING) << 16) | (8ull << 32);
  START; BEFORE;
#ifdef REGISTERS
  multiply(d, r, b, 0);
#else
  multiply(d, a, b, 0);
#endif
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  ISSUED;
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  WAITED;
  for (int i = 0; i < 4; ++i) o[t * 4 + i] = d[i] + (float)(r[i] & 1);
}
)";
}

struct Around {
  const char* hooks;
  const char* code;     // "": it ends well
  const char* message;  // a part of it
};
const Around arounds[] = {
    {"", "", ""},
    {"#define REGISTERS\n", "", ""},
    {"#define ISSUED if (t < 64) sb[t] = 0\n", "run.race", "may still read"},
    {"#define ISSUED sa[t] = 0\n", "run.race", "may still read"},
    {"#define WAITED __syncthreads(); if (t < 64) sb[t] = 0\n", "", ""},
    {"#define ISSUED asm volatile(\"add.f32 %0, %0, %0;\" : \"+f\"(d[1]))\n", "run.race",
     "wait_group"},
    {"#define REGISTERS\n#define ISSUED asm volatile(\"add.u32 %0, %0, %0;\" : \"+r\"(r[1]))\n",
     "run.race", "wait_group"},
    {"#define WAITED asm volatile(\"add.f32 %0, %0, %0;\" : \"+f\"(d[1])); multiply(d, a, b, 1); "
     "finish()\n",
     "run.race", "wgmma.fence"},
    {"#define WAITED asm volatile(\"add.f32 %0, %0, %0;\" : \"+f\"(d[1])); multiply_fence(); "
     "multiply(d, a, b, 1); finish()\n",
     "", ""},
    {"#define WAITED multiply(d, a, b, 1); finish()\n", "", ""},
    {"#define BEFORE asm volatile(\"add.f32 %0, %0, %0;\" : \"+f\"(d[1]))\n", "run.race",
     "wgmma.fence"},
    {"#define START FENCE_PROXY; __syncthreads()\n", "run.race", "first wgmma.fence"},
    {"#define START __syncthreads(); multiply_fence()\n", "run.race", "fence.proxy.async"},
    {"#define START FENCE_PROXY; multiply_fence()\n", "run.race", ""},
    {"#define LEADING_A 128\n", "run.out_of_bounds",
     "touches sa+2048 (shared offset 2048), where no shared variable lies"},
    {"#define LEADING 16\n", "run.out_of_bounds", "row 0 of B lies at sb+256 (shared offset 2304)"},
    {"#define LEADING 0x3000\n", "run.out_of_bounds", "row 0 of B"},
    {"#define LEADING 0x4000\n", "run.misaligned", "no descriptor of B"},
    {"#define BEFORE if (t & 1) return\n", "run.divergence", ""},
    {"#define BEFORE if (t & 1) b += 2\n", "run.divergence", "different descriptors"},
    {"#define BEFORE if (t & 32) b += 1\n", "run.divergence", "warpgroup"},
};

}  // namespace

TEST_CASE("what stands around a wgmma decides whether it is right", "[wgmma][faults]") {
  for (const Around& around : arounds) {
    for (const bool late : {false, true}) {
      INFO(around.hooks << (late ? "late" : "eager"));
      Device d;
      d.options.late = late;
      d.options.max_faults = 1;
      const auto out = d.output("o", 2048);
      const auto report =
          d.run(module_of_cuda(one_product(around.hooks)), "one", {1}, {128}, 0, P{out});
      INFO(faults_of(report));
      if (around.code[0] == '\0') {
        CHECK(report.faults.empty());
        continue;
      }
      REQUIRE(!report.faults.empty());
      CHECK(report.faults[0].code == around.code);
      CHECK(report.faults[0].message.find(around.message) != std::string::npos);
    }
  }
}

TEST_CASE("late sums take what shared memory holds when they are waited for", "[wgmma]") {
  for (const bool late : {false, true}) {
    Device d;
    d.options.late = late;
    d.options.check_races = false;
    const auto out = d.output("o", 2048);
    const auto report = d.run(
        module_of_cuda(one_product("#define ISSUED if (t < 64) sb[t] = 0; __syncthreads()\n")),
        "one", {1}, {128}, 0, P{out});
    REQUIRE(faults_of(report) == "");
    CHECK(d.values<float>(out)[0] == (late ? 0.0f : 16.0f));
  }
}

TEST_CASE("wgmma needs four warps", "[wgmma][faults]") {
  Device d;
  const auto out = d.output("o", 2048);
  const auto report = d.run(module_of_cuda(one_product("")), "one", {1}, {96}, 0, P{out});
  REQUIRE(!report.faults.empty());
  CHECK(report.faults[0].code == "run.divergence");
}
