// Kernels as authors write them for asynchronous copies and clusters: each computes what it should
// in both modes and several orders of warps, and each line that it cannot do without is missed when
// it is gone.
#include <cmath>
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string text = async_text + R"(
D float remote_float(u32 a) { float v; asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(a) : "memory"); return v; }
// Persistent copy with scale: one producer warp, two consumer warps, stages of 1 KiB, tiles stored back by the bulk engine.
constexpr int ST = 3;
K copy(const float* a, float* o, int tiles) {
  __shared__ __align__(128) float in[ST][256], out[2][128]; __shared__ u64 full[ST], empty[ST];
  int t = threadIdx.x, w = t >> 5, lane = t & 31;
  if (t == 0) { for (int i = 0; i < ST; ++i) { init(&full[i], 1); init(&empty[i], 2); } CUT(INIT_FENCE, asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")); }
  CUT(SYNC, __syncthreads());
  if (w == 2) {
    if (lane == 0) for (int i = 0, s = 0, p = 1; i < tiles; ++i) {
      CUT(EMPTY, wait(&empty[s], p)); CUT(EXPECT, expect(&full[s], 1024)); load(in[s], a + (blockIdx.x * tiles + i) * 256, 1024, &full[s]);
      if (++s == ST) { s = 0; p ^= 1; } }
  } else {
    for (int i = 0, s = 0, p = 0; i < tiles; ++i) {
      CUT(FULL, wait(&full[s], p));
      float v[4]; for (int j = 0; j < 4; ++j) v[j] = 3 * in[s][w * 128 + j * 32 + lane];
      CUT(DRAINED, DRAIN); CUT(LANES, __syncwarp()); if (lane == 0) { CUT(RELEASE, arrive(&empty[s])); CUT(READ, wait_read()); } CUT(LANES2, __syncwarp());
      for (int j = 0; j < 4; ++j) out[w][j * 32 + lane] = v[j];
      CUT(PROXY, FENCE_PROXY); CUT(LANES3, __syncwarp());
      if (lane == 0) { store(o + (blockIdx.x * tiles + i) * 256 + w * 128, out[w], 512); commit(); }
      if (++s == ST) { s = 0; p ^= 1; } }
    if (lane == 0) wait_groups();
  }
}
// Softmax of a row that a cluster shares: maxima and sums go through distributed shared memory.
K softmax(const float* x, float* y, int columns) {
  __shared__ float part[8], best, total, all[2]; int t = threadIdx.x, w = t >> 5; u32 n = cluster_size(), r = cluster_rank();
  const float* row = x + (blockIdx.x / n) * columns + r * (columns / n); float* to = y + (row - x); int mine = columns / n;
  float m = -1e30f; for (int i = t; i < mine; i += 128) m = fmaxf(m, row[i]);
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if ((t & 31) == 0) part[w] = m;
  CUT(SYNC, __syncthreads());
  if (t == 0) best = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  CUT(MAX_READY, cluster_sync());
  if (t == 0) { float b = best; for (u32 i = 0; i < n; ++i) b = fmaxf(b, remote_float(mapa(&best, i))); all[0] = b; }
  CUT(SYNC2, __syncthreads());
  float s = 0; for (int i = t; i < mine; i += 128) s += row[i] - all[0];
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((t & 31) == 0) part[w + 4] = s;
  CUT(SYNC3, __syncthreads());
  if (t == 0) total = part[4] + part[5] + part[6] + part[7];
  CUT(SUM_READY, cluster_sync());
  if (t == 0) { float b = 0; for (u32 i = 0; i < n; ++i) b += remote_float(mapa(&total, i)); all[1] = b; }
  CUT(SYNC4, __syncthreads());
  for (int i = t; i < mine; i += 128) to[i] = (row[i] - all[0]) - all[1];
  CUT(LAST, cluster_sync());
}
// A histogram whose bins are spread over the cluster's blocks.
K histogram(const u32* x, u32* h, int count) {
  __shared__ u32 bins[32]; int t = threadIdx.x; u32 n = cluster_size(), r = cluster_rank();
  if (t < 32) bins[t] = 0;
  CUT(CLEARED, cluster_sync());
  for (int i = blockIdx.x * 128 + t; i < count; i += gridDim.x * 128) { u32 b = x[i] % (32 * n);
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(mapa(bins + b % 32, b / 32)) : "memory"); }
  CUT(COUNTED, cluster_sync());
  if (t < 32) atomicAdd(&h[r * 32 + t], bins[t]);
}
// A tile loaded once a cluster and multicast; each block sums a column slice. Remote releases, cluster barrier at the end.
K shared_tile(const __grid_constant__ Map m, float* o, int laps) {
  __shared__ __align__(128) float s[2][16][32]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x, w = t >> 5, lane = t & 31; u32 r = cluster_rank(), n = cluster_size();
  if (t == 0) { for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 3 * n); } asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  CUT(FIRST, cluster_sync());
  if (w == 3) {
    if (lane == 0) for (int i = 0; i < laps; ++i) { int st = i & 1;
      CUT(EMPTY, wait(&empty[st], ((i >> 1) & 1) ^ 1)); CUT(EXPECT, expect(&full[st], 2048));
      if (i % n == r) { tile2_multicast(s[st], &m, 0, 16 * i, &full[st], (u16)((1u << n) - 1)); } }
  } else {
    float sum = 0;
    for (int i = 0; i < laps; ++i) { int st = i & 1;
      CUT(FULL, wait(&full[st], (i >> 1) & 1));
      for (int y = w; y < 16; y += 3) sum += s[st][y][lane] * (r + 1);
      CUT(DRAINED, DRAIN); CUT(LANES, __syncwarp());
      if (lane == 0) CUT(RELEASE, for (u32 j = 0; j < n; ++j) mapped_arrive(&empty[st], j)); }
    o[(blockIdx.x * 3 + w) * 32 + lane] = sum;
  }
  CUT(LAST, cluster_sync());
}
)";

// With the named lines gone.
std::string without(const std::string& line) {
  return "#define CUT(NAME, ...) CUT_(KEEP_##NAME, __VA_ARGS__)\n#define CUT_(KEEP, ...) "
         "CUT__(KEEP, __VA_ARGS__)\n"
         "#define CUT__(KEEP, ...) CUT_##KEEP(__VA_ARGS__)\n#define CUT_1(...) "
         "__VA_ARGS__\n#define CUT_0(...) ((void)0)\n" +
         [&] {
           std::string out;
           for (const char* name :
                {"INIT_FENCE", "SYNC",      "SYNC2",     "SYNC3",   "SYNC4",   "EMPTY",   "EXPECT",
                 "FULL",       "LANES",     "LANES2",    "DRAINED", "LANES3",  "RELEASE", "READ",
                 "PROXY",      "MAX_READY", "SUM_READY", "LAST",    "CLEARED", "COUNTED", "FIRST"})
             out += std::string("#define KEEP_") + name + (line == name ? " 0\n" : " 1\n");
           return out;
         }() +
         text;
}

struct Mode {
  std::uint64_t seed;
  bool late;
};
constexpr Mode modes[] = {{0, false}, {0, true}, {4, true}, {7, false}};

// One run of a kernel; whether the result is right stands in `right`.
struct Run {
  ptx::Report report;
  bool right = false;
};

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i * 7 % 61);
  return out;
}

Run copy(Device& d, const std::string& text_of) {
  const auto a = ramp(2 * 8 * 256);
  const auto ia = d.input("a", a), io = d.output("o", 4 * a.size());
  Run run{d.run(module_of_cuda(text_of), "copy", {2}, {96}, 0, P{ia}, P{io}, 8)};
  run.right = true;
  const auto o = d.values<float>(io);
  for (std::size_t i = 0; i < a.size(); ++i) run.right = run.right && o[i] == 3 * a[i];
  return run;
}

Run softmax(Device& d, const std::string& text_of) {
  const std::size_t rows = 2, columns = 1024;
  const auto x = ramp(rows * columns);
  const auto ix = d.input("x", x), iy = d.output("y", 4 * x.size());
  d.cluster = {4, 1, 1};
  Run run{d.run(module_of_cuda(text_of), "softmax", {8}, {128}, 0, P{ix}, P{iy},
                static_cast<int>(columns))};
  run.right = true;
  const auto y = d.values<float>(iy);
  for (std::size_t r = 0; r < rows; ++r) {
    float best = 0, sum = 0;
    for (std::size_t i = 0; i < columns; ++i) best = std::max(best, x[r * columns + i]);
    for (std::size_t i = 0; i < columns; ++i) sum += x[r * columns + i] - best;
    for (std::size_t i = 0; i < columns; ++i)
      run.right = run.right && y[r * columns + i] == x[r * columns + i] - best - sum;
  }
  return run;
}

Run histogram(Device& d, const std::string& text_of) {
  std::vector<std::uint32_t> x(3000), want(64, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    ++want[(x[i] = static_cast<std::uint32_t>(i * i + 3 * i)) % 64];
  const auto ix = d.input("x", x), ih = d.output("h", 256);
  d.memory.mark_written(ih);
  d.cluster = {2, 1, 1};
  Run run{d.run(module_of_cuda(text_of), "histogram", {4}, {128}, 0, P{ix}, P{ih},
                static_cast<int>(x.size()))};
  run.right = d.values<std::uint32_t>(ih) == want;
  return run;
}

Run shared_tile(Device& d, const std::string& text_of) {
  const int laps = 6;
  const auto a = ramp(16 * 32 * laps);
  const auto ia = d.input("a", a), io = d.output("o", 4 * 2 * 96);
  ptx::TensorMap map;
  map.address = d.memory.address(ia);
  map.type = ptx::Type::f32;
  map.rank = 2;
  map.dims = {32, 16 * laps, 1, 1, 1};
  map.pitch = {128};
  map.box = {32, 16, 1, 1, 1};
  d.cluster = {2, 1, 1};
  Run run{d.run(module_of_cuda(text_of), "shared_tile", {2}, {128}, 0, map, P{io}, laps)};
  run.right = true;
  const auto o = d.values<float>(io);
  for (std::size_t i = 0; i < o.size(); ++i) {
    float want = 0;
    for (std::size_t y = 0; y < 16 * laps; ++y)
      want += y % 16 % 3 == i / 32 % 3 ? a[y * 32 + i % 32] * static_cast<float>(i / 96 + 1) : 0;
    run.right = run.right && o[i] == want;
  }
  return run;
}

using Kernel = Run (*)(Device&, const std::string&);

}  // namespace

TEST_CASE("asynchronous pipelines and cluster kernels compute what they should", "[pipelines]") {
  for (const Kernel kernel : {copy, softmax, histogram, shared_tile}) {
    for (const Mode& mode : modes) {
      Device d;
      d.options.seed = mode.seed;
      d.options.late = mode.late;
      const Run run = kernel(d, without(""));
      REQUIRE(faults_of(run.report) == "");
      CHECK(run.right);
    }
  }
}

TEST_CASE("every fence, wait, arrival and barrier of a pipeline is missed", "[pipelines]") {
  struct Mutant {
    Kernel kernel;
    const char* line;
  };
  const Mutant mutants[] = {
      {copy, "SYNC"},           {copy, "EMPTY"},          {copy, "EXPECT"},
      {copy, "FULL"},           {copy, "RELEASE"},        {copy, "READ"},
      {copy, "DRAINED"},        {copy, "PROXY"},          {softmax, "SYNC"},
      {softmax, "MAX_READY"},   {softmax, "SYNC2"},       {softmax, "SYNC3"},
      {softmax, "SUM_READY"},   {softmax, "SYNC4"},       {softmax, "LAST"},
      {histogram, "CLEARED"},   {histogram, "COUNTED"},   {shared_tile, "FIRST"},
      {shared_tile, "EMPTY"},   {shared_tile, "EXPECT"},  {shared_tile, "FULL"},
      {shared_tile, "RELEASE"}, {shared_tile, "DRAINED"}, {shared_tile, "LAST"},
  };
  for (const Mutant& mutant : mutants) {
    for (const Mode& mode : modes) {
      INFO(mutant.line << " seed " << mode.seed << (mode.late ? " late" : " eager"));
      Device d;
      d.options.seed = mode.seed;
      d.options.late = mode.late;
      d.options.instruction_budget = 2'000'000;
      const Run run = mutant.kernel(d, without(mutant.line));
      const bool missed = !run.report.faults.empty() || !run.right;
      CHECK(missed);
      if (run.report.faults.empty()) continue;
      const std::string& code = run.report.faults[0].code;
      INFO(faults_of(run.report));
      CHECK((code == "run.race" || code == "run.hang" || code == "run.uninitialised" ||
             code == "run.divergence"));
      CHECK(run.report.faults[0].source_line > 0);
    }
  }
}
