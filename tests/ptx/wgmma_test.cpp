// Products of warpgroups: a warp-specialised GEMM, what happens when one of its orderings is missing, and what wgmma refuses.
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ptx/runner.hpp"
#include "ptx/tensor_text.hpp"

using namespace support;
using cupilot::Counter;
using P = Device::Pointer;

namespace {

std::uint16_t bf16_of(float v) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16); }

struct Outcome {
  ptx::Report report;
  bool right = false;
};

// Small integers: every sum is exact, so any order of adding gives the same bits.
Outcome run(const std::string& text, bool late, int m = 128, int n = 128, int k = 448, std::uint64_t seed = 0,
            std::uint32_t swizzle = 128) {
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
  const std::vector<int> a = draw(static_cast<std::size_t>(m) * k), b = draw(static_cast<std::size_t>(n) * k);
  Device d;
  d.options.late = late;
  d.options.seed = seed;
  d.options.instruction_budget = 2'000'000;
  d.options.max_faults = 1;
  const auto ia = d.input("A", encode(a)), ib = d.input("B", encode(b)), id = d.output("D", static_cast<std::size_t>(m) * n * 4);
  const ptx::TensorMap ma = rows_along_k(d.memory.address(ia), m, k, swizzle),
                       mb = rows_along_k(d.memory.address(ib), n, k, swizzle);
  Outcome out;
  out.report =
      d.run(module_of_cuda(text), "gemm", {static_cast<unsigned>(n) / gemm_columns, static_cast<unsigned>(m) / gemm_rows},
            {gemm_threads}, gemm_shared, ma, mb, P{id}, n, k);
  if (!out.report.faults.empty()) return out;
  const auto got = d.values<float>(id);
  out.right = true;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int q = 0; q < k; ++q) sum += a[static_cast<std::size_t>(i * k + q)] * b[static_cast<std::size_t>(j * k + q)];
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
    {"    multiply_fence();\n    for", "    if (i == 0) multiply_fence();\n    sum[5] += 0.0f;\n    for", "run.race"},
    {"    multiply_commit();\n", "", "run.race"},
    {"  multiply_wait<0>();\n", "", "run.race"},
    {"  multiply_wait<0>();\n", "  multiply_wait<1>();\n", "run.race"},
    {"    multiply_wait<1>();\n", "", "run.race"},
    {"    multiply_wait<1>();\n", "    multiply_wait<2>();\n", "run.race"},
    {"if (i > 0 && lane == 0) arrive(&empty[(i - 1) % ST]);", "if (lane == 0) arrive(&empty[at]);", "run.race"},
    {"if (i > 0 && lane == 0) arrive(&empty[(i - 1) % ST]);", "", "run.hang"},
    {"if (i > 0 && lane == 0) arrive", "if (i > 0 && lane == 0 && warp < 3) arrive", "run.hang"},
    {"if (i > 0 && lane == 0) arrive", "if (i > 0 && lane < 2) arrive", ""},
    {"init(&empty[i], 8);", "init(&empty[i], 4);", ""},
    {"init(&empty[i], 8);", "init(&empty[i], 9);", "run.hang"},
    {"init(&full[i], 1);", "init(&full[i], 2);", "run.hang"},
    {"    wait(&full[at], (i / ST) & 1);\n", "", "run.race"},
    {"wait(&full[at], (i / ST) & 1);", "wait(&full[at], (i / ST + 1) & 1);", "run.race run.hang"},
    {"        if (i >= ST) wait(&empty[at], (i / ST - 1) & 1);\n", "", "run.race run.divergence"},
    {"wait(&empty[at], (i / ST - 1) & 1);", "wait(&empty[at], (i / ST) & 1);", "run.race run.divergence"},
    {"if (i >= ST) wait", "if (i > ST) wait", "run.race run.divergence"},
    {"        expect(&full[at], BYTES);\n", "", "run.hang"},
    {"expect(&full[at], BYTES);", "expect(&full[at], BYTES / 2);", ""},
    {"expect(&full[at], BYTES);", "expect(&full[at], BYTES + 16);", "run.hang"},
    {"expect(&full[at], BYTES);", "arrive(&full[at]);", ""},
    {"  __syncthreads();\n", "", ""},
    {"        tile2(s + at * BYTES + BM * BK * 2, &mb, i * BK, column, &full[at]);\n", "", "run.hang"},
    {"&mb, i * BK, column, &full[at]", "&mb, i * BK, column, &full[0]", ""},
    {"(1ull << 62)", "(2ull << 62)", ""},
    {"(64ull << 32)", "(32ull << 32)", ""},
    {"(64ull << 32)", "(2048ull << 32)", "run.out_of_bounds run.race"},
    {"((u64)(sm(p) & 0x3ffff) >> 4)", "((u64)sm(p))", "run.misaligned"},
    {"a + 2 * j, b + 2 * j", "a + 2 * j, b + 4 * j", ""},
    {"i + j != 0", "1", ""},
    {"i + j != 0", "i != 0", ""},
    {"  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");", "  if (t / 32 % 4 == 3) return;", "run.hang"},
    {"for (int j = 0; j < BK / 16; ++j) multiply", "for (int j = 0; j < BK / 16; ++j) if (j != 2 || warp != 1) multiply",
     "run.divergence"},
    {"descriptor(s + at * BYTES + (group - 1)", "descriptor(s + at * BYTES + (warp & 1)", "run.divergence"},
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

TEST_CASE("a warp-specialised GEMM without one of its orderings faults or is wrong", "[wgmma][faults]") {
  for (const Mutant& mutant : mutants) {
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
