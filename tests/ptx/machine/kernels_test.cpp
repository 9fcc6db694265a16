// Whole kernels, as NVRTC compiles them, against double arithmetic on the host.
#include <cmath>
#include <cstdint>
#include <random>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using cupilot::Counter;
using P = Device::Pointer;

namespace {

std::vector<float> random_floats(std::size_t n, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> out(n);
  for (float& v : out) v = draw(generator);
  return out;
}

const std::string plain = R"(
extern "C" __global__ void add(const float* a, const float* b, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = a[i] + b[i];
}
extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float part[32];
  const float* row = x + (size_t)blockIdx.x * cols;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float m = -3.4e38f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
  for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = part[0];
  for (int w = 1; w < warps; ++w) m = fmaxf(m, part[w]);
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) s += expf(row[i] - m);
  for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(~0u, s, d);
  if (lane == 0) part[warp] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < warps; ++w) s += part[w];
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) / s;
}
extern "C" __global__ void reference(const float* a, const float* b, double* o, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  double s = 0;
  for (int j = 0; j < k; ++j) s += (double)a[i / n * k + j] * (double)b[j * n + i % n];
  o[i] = erf(s) + sqrt(fabs(s)) / (1.0 + s * s) + exp(-s * s) + tanh(s) + log(2.0 + s * s);
}
extern "C" __global__ void splitk(const float* __restrict__ a, const float* __restrict__ b, float* o, unsigned* tickets, float* last, int n, int k) {
  __shared__ bool is_last;
  int i = blockIdx.x * blockDim.x + threadIdx.x, part = k / gridDim.y;
  float s = 0;
  for (int j = blockIdx.y * part; j < (blockIdx.y + 1) * part; ++j) s += a[i / n * k + j] * b[j * n + i % n];
  atomicAdd(&o[i], s);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(&tickets[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
  __syncthreads();
  if (is_last) last[i] = *(volatile float*)&o[i] * 2;
}
__device__ __noinline__ float poly(float x, int n) { float r = 0; for (int i = n; i >= 0; --i) r = r * x + 1.0f / (i + 1); return r; }
__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
struct Box { float v[4]; int idx; };
extern "C" __global__ void mixed(float* o, int* q, const __grid_constant__ Box box) {
  int i = threadIdx.x;
  float local[16];
  for (int j = 0; j < 16; ++j) local[j] = (float)(i * j);
  float s = 0;
  for (int j = 0; j < 16; ++j) s += local[(i * 7 + j * box.idx) & 15];
  switch (i % 9) {
    case 0: s += 1; break; case 1: s *= 2; break; case 2: s -= 3; break; case 3: s = -s; break; case 4: s += box.v[i & 3]; break;
    case 5: s /= 3; break; case 6: s = fabsf(s) + 7; break; case 7: s = s * s; break; default: break;
  }
  if (i & 1) s += poly(0.5f, i & 7);
  while (s > 100) s *= 0.5f;
  o[i] = s;
  q[i] = ackermann(1 + (i & 1), i & 3) + __popc(__ballot_sync(~0u, i & 1)) + (int)__brev(i) + __clz(i) + __ffs(i);
}
)";

}  // namespace

TEST_CASE("vector add with a tail", "[kernels]") {
  Device d;
  const auto a = random_floats(1000, 1), b = random_floats(1000, 2);
  const auto ia = d.input("a", a), ib = d.input("b", b), io = d.output("o", 4000);
  const auto report = d.run(module_of_cuda(plain), "add", {8}, {128}, 0, P{ia}, P{ib}, P{io}, 1000);
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<float>(io);
  for (std::size_t i = 0; i < 1000; ++i) REQUIRE(o[i] == a[i] + b[i]);
  CHECK(d.memory.unwritten_bytes(io) == 0);
  CHECK(report.counts[Counter::flops_fp32].value == 1000);
  CHECK(report.counts[Counter::global_load_requests].value ==
        64);  // 31 whole warps and one of 8 lanes, two loads each
  CHECK(report.counts[Counter::global_load_sectors].value == 250);
  CHECK(report.counts[Counter::global_store_sectors].value == 125);
  CHECK(report.counts[Counter::divergent_branches].value == 1);
  CHECK(report.counts[Counter::blocks].value == 8);
  CHECK(report.independent);
}

TEST_CASE("what was written is found by its rank", "[kernels]") {
  Device d;
  const auto a = random_floats(1000, 1);
  const auto ia = d.input("a", a), io = d.output("o", 4000);
  // Elements 0 to 99 alone: their 400 bytes.
  REQUIRE(faults_of(d.run(module_of_cuda(plain), "add", {1}, {128}, 0, P{ia}, P{ia}, P{io}, 100)) ==
          "");
  CHECK(d.memory.unwritten_bytes(io) == 3600);
  const std::uint64_t ranks[] = {0, 0, 5, 399};
  CHECK(d.memory.written_at(io, ranks) == std::vector<std::uint64_t>{0, 0, 5, 399});
}

TEST_CASE("row softmax by shuffles", "[kernels]") {
  Device d;
  const int rows = 5, cols = 301;
  const auto x = random_floats(rows * cols, 3, -4, 4);
  const auto ix = d.input("x", x), iy = d.output("y", rows * cols * 4);
  d.options.seed = 7;
  const auto report = d.run(module_of_cuda(plain), "softmax", {rows}, {128}, 0, P{ix}, P{iy}, cols);
  REQUIRE(faults_of(report) == "");
  const auto y = d.values<float>(iy);
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(x[r * cols + c]));
    for (int c = 0; c < cols; ++c)
      REQUIRE(y[r * cols + c] ==
              Approx(std::exp(static_cast<double>(x[r * cols + c])) / sum).epsilon(1e-5));
  }
}

TEST_CASE("a reference in double, with the library's functions", "[kernels]") {
  Device d;
  const int n = 12, k = 20;
  const auto a = random_floats(n * k, 4), b = random_floats(k * n, 5);
  const auto ia = d.input("a", a), ib = d.input("b", b), io = d.output("o", n * n * 8);
  const auto report =
      d.run(module_of_cuda(plain), "reference", {3}, {64}, 0, P{ia}, P{ib}, P{io}, n, k);
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<double>(io);
  for (int i = 0; i < n * n; ++i) {
    double s = 0;
    for (int j = 0; j < k; ++j)
      s = std::fma(static_cast<double>(a[i / n * k + j]), static_cast<double>(b[j * n + i % n]), s);
    const double want = std::erf(s) + std::sqrt(std::fabs(s)) / (1.0 + s * s) + std::exp(-s * s) +
                        std::tanh(s) + std::log(2.0 + s * s);
    REQUIRE(o[i] == Approx(want).epsilon(1e-14));
  }
}

TEST_CASE("split K with atomics and a last arriver", "[kernels]") {
  Device d;
  const int n = 16, k = 64;
  const auto a = random_floats(n * k, 6), b = random_floats(k * n, 7);
  const auto ia = d.input("a", a), ib = d.input("b", b), io = d.output("o", n * n * 4),
             it = d.output("tickets", 4), il = d.output("last", n * n * 4);
  d.memory.mark_written(io);
  d.memory.mark_written(it);
  const auto report = d.run(module_of_cuda(plain), "splitk", {1, 4}, {256}, 0, P{ia}, P{ib}, P{io},
                            P{it}, P{il}, n, k);
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<float>(io), last = d.values<float>(il);
  for (int i = 0; i < n * n; ++i) {
    double s = 0;
    for (int j = 0; j < k; ++j) s += static_cast<double>(a[i / n * k + j]) * b[j * n + i % n];
    REQUIRE(o[i] == Approx(s).margin(1e-5));
    REQUIRE(last[i] == 2 * o[i]);
  }
  CHECK(d.values<std::uint32_t>(it)[0] == 0);
  CHECK_FALSE(report.independent);
  CHECK(report.counts[Counter::atomic_requests].value == 4 * 8 + 4);
}

TEST_CASE("local memory, calls, recursion, switches and bit counting", "[kernels]") {
  Device d;
  const auto io = d.output("o", 64 * 4), iq = d.output("q", 64 * 4);
  struct Box {
    float v[4] = {10, 20, 30, 40};
    int idx = 3;
  } box;
  const auto report = d.run(module_of_cuda(plain), "mixed", {1}, {64}, 0, P{io}, P{iq}, box);
  REQUIRE(faults_of(report) == "");
  const auto o = d.values<float>(io);
  const auto q = d.values<std::int32_t>(iq);
  const auto ackermann = [](auto&& self, int m, int n) -> int {
    return m == 0 ? n + 1 : n == 0 ? self(self, m - 1, 1) : self(self, m - 1, self(self, m, n - 1));
  };
  for (int i = 0; i < 64; ++i) {
    float s = 0;
    for (int j = 0; j < 16; ++j) s += static_cast<float>(i * ((i * 7 + j * 3) & 15));
    switch (i % 9) {
      case 0:
        s += 1;
        break;
      case 1:
        s *= 2;
        break;
      case 2:
        s -= 3;
        break;
      case 3:
        s = -s;
        break;
      case 4:
        s += box.v[i & 3];
        break;
      case 5:
        s /= 3;
        break;
      case 6:
        s = std::fabs(s) + 7;
        break;
      case 7:
        s = s * s;
        break;
      default:
        break;
    }
    if (i & 1) {
      float r = 0;
      for (int j = i & 7; j >= 0; --j) r = std::fma(r, 0.5f, 1.0f / static_cast<float>(j + 1));
      s += r;
    }
    while (s > 100) s *= 0.5f;
    REQUIRE(o[i] == Approx(s).epsilon(1e-6));
    std::uint32_t reversed = 0;
    for (int b = 0; b < 32; ++b)
      reversed |= ((static_cast<std::uint32_t>(i) >> b) & 1u) << (31 - b);
    const int clz = i == 0 ? 32 : __builtin_clz(static_cast<unsigned>(i));
    REQUIRE(static_cast<std::uint32_t>(q[i]) ==
            static_cast<std::uint32_t>(ackermann(ackermann, 1 + (i & 1), i & 3)) + 16u + reversed +
                static_cast<std::uint32_t>(clz) + static_cast<std::uint32_t>(__builtin_ffs(i)));
  }
  CHECK(report.counts[Counter::local_bytes].value > 0);
}

TEST_CASE("equal results for every seed and thread count", "[kernels][threads]") {
  std::vector<float> first;
  for (const auto& [seed, threads] : {std::pair{0, 1u}, {1, 1u}, {99, 1u}, {5, 3u}}) {
    Device d;
    const int rows = 7, cols = 77;
    const auto ix = d.input("x", random_floats(rows * cols, 3)),
               iy = d.output("y", rows * cols * 4);
    d.options.seed = static_cast<std::uint64_t>(seed);
    d.options.threads = threads;
    const auto report =
        d.run(module_of_cuda(plain), "softmax", {rows}, {96}, 0, P{ix}, P{iy}, cols);
    REQUIRE(faults_of(report) == "");
    if (first.empty()) first = d.values<float>(iy);
    REQUIRE(d.values<float>(iy) == first);
    CHECK(report.counts[Counter::blocks].value == rows);
  }
}

TEST_CASE("a grid barrier runs when all blocks are resident", "[kernels]") {
  const std::string text = R"(
extern "C" __global__ void meet(unsigned* gate, int* o) {
  if (threadIdx.x == 0) { atomicAdd(gate, 1); while (*(volatile unsigned*)gate < gridDim.x) __nanosleep(100); }
  __syncthreads();
  o[blockIdx.x * blockDim.x + threadIdx.x] = (int)*(volatile unsigned*)gate;
})";
  Device d;
  const auto gate = d.output("gate", 4), o = d.output("o", 4 * 32 * 4);
  d.memory.mark_written(gate);
  d.options.instruction_budget = 3'000'000;
  d.options.resident = 4;
  auto report = d.run(module_of_cuda(text), "meet", {4}, {32}, 0, P{gate}, P{o});
  REQUIRE(faults_of(report) == "");
  for (int v : d.values<int>(o)) REQUIRE(v == 4);
  CHECK_FALSE(report.independent);
}
