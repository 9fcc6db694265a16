// How fast the interpreter runs, on one core: checked warp instructions of an fp32 GEMM, kernels
// that only move, and tensor-core GEMMs of 512 cubed.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/machine/runner.hpp"
#include "ptx/machine/tensor_text.hpp"

namespace {

using namespace support;
using P = Device::Pointer;

constexpr int size = 512;

// 128 x 128 of D a block of 256 threads, 8 x 8 a thread.
const std::string simt_gemm = R"(
extern "C" __global__ void __launch_bounds__(256) gemm(const float* __restrict__ a, const float* __restrict__ b, float* d, int n, int k) {
  __shared__ float as[8][128], bs[8][128];
  int t = threadIdx.x, x = t % 16 * 8, y = t / 16 * 8, row = blockIdx.y * 128, column = blockIdx.x * 128;
  float sum[8][8] = {};
  for (int at = 0; at < k; at += 8) {
    float4 va = *(const float4*)(a + (size_t)(row + t / 2) * k + at + t % 2 * 4), vb = *(const float4*)(b + (size_t)(at + t / 32) * n + column + t % 32 * 4);
    as[t % 2 * 4][t / 2] = va.x; as[t % 2 * 4 + 1][t / 2] = va.y; as[t % 2 * 4 + 2][t / 2] = va.z; as[t % 2 * 4 + 3][t / 2] = va.w;
    *(float4*)&bs[t / 32][t % 32 * 4] = vb;
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 8; ++q) {
      float fa[8], fb[8];
      for (int i = 0; i < 8; ++i) { fa[i] = as[q][y + i]; fb[i] = bs[q][x + i]; }
      for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) sum[i][j] += fa[i] * fb[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) d[(size_t)(row + y + i) * n + column + x + j] = sum[i][j];
})";

template <class T>
std::vector<T> noise(std::size_t count, T (*encode)(float)) {
  std::vector<T> out(count);
  std::uint64_t state = 1;
  for (T& v : out) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    v = encode(static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f);
  }
  return out;
}
float same(float v) { return v; }
std::uint16_t bf16(float v) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16);
}

void check(const ptx::Report& report, benchmark::State& state) {
  if (!report.faults.empty()) state.SkipWithError(report.faults[0].message.c_str());
}

void simt(benchmark::State& state) {
  Device d;
  d.options.threads = static_cast<std::uint32_t>(state.range(0));
  const auto a = d.input("A", noise(size * size, same)), b = d.input("B", noise(size * size, same)),
             out = d.output("D", size * size * 4);
  const auto module = module_of_cuda(simt_gemm);
  double instructions = 0;
  for ([[maybe_unused]] auto step : state) {
    const ptx::Report report =
        d.run(module, "gemm", {size / 128, size / 128}, {256}, 0, P{a}, P{b}, P{out}, size, size);
    check(report, state);
    instructions += static_cast<double>(report.warp_instructions);
  }
  state.counters["warp_instructions"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}

// Little but accesses to global memory: `o` written once, and added to in place.
const std::string moving = R"(
extern "C" __global__ void copy(const float* a, float* o, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) o[i] = a[i]; }
extern "C" __global__ void add(const float* a, float* o, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) o[i] += a[i]; }
)";

void move(benchmark::State& state, const char* entry) {
  Device d;
  constexpr int count = 1 << 20;
  const auto a = d.input("A", noise(count, same)), out = d.output("O", count * 4);
  d.memory.mark_written(out);
  const auto module = module_of_cuda(moving);
  for ([[maybe_unused]] auto step : state)
    check(d.run(module, entry, {64}, {256}, 0, P{a}, P{out}, count), state);
}
void copy(benchmark::State& state) { move(state, "copy"); }
void add(benchmark::State& state) { move(state, "add"); }

void mma(benchmark::State& state) {
  Device d;
  const auto a = d.input("A", noise(size * size, bf16)), b = d.input("B", noise(size * size, bf16)),
             out = d.output("D", size * size * 4);
  const auto module = module_of_cuda(mma_gemm);
  for ([[maybe_unused]] auto step : state)
    check(d.run(module, "gemm", {size / 64, size / 64}, {128}, 3 * 2 * 64 * 32 * 2, P{a}, P{b},
                P{out}, size, size, size),
          state);
}

void wgmma(benchmark::State& state) {
  Device d;
  const auto a = d.input("A", noise(size * size, bf16)), b = d.input("B", noise(size * size, bf16)),
             out = d.output("D", size * size * 4);
  const auto module = module_of_cuda(warp_specialised_gemm);
  const ptx::TensorMap ma = rows_along_k(d.memory.address(a), size, size),
                       mb = rows_along_k(d.memory.address(b), size, size);
  for ([[maybe_unused]] auto step : state)
    check(d.run(module, "gemm", {size / gemm_columns, size / gemm_rows}, {gemm_threads},
                gemm_shared, ma, mb, P{out}, size, size),
          state);
}

BENCHMARK(simt)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(copy)->Unit(benchmark::kMillisecond);
BENCHMARK(add)->Unit(benchmark::kMillisecond);
BENCHMARK(mma)->Unit(benchmark::kMillisecond);
BENCHMARK(wgmma)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
