// A plan's tensor map, cluster and cooperation reach the interpreter.
#include "catch.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

// Two blocks share a row; tiles of 64 columns arrive through a map, the second block's sum through
// its shared memory.
const std::string shared_row = R"(
typedef unsigned u32; struct __align__(64) Map { char bytes[128]; };
__device__ u32 sm(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned long long* b, u32 parity) {
  u32 ok = 0; while (!ok) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(sm(b)), "r"(parity) : "memory"); }
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
extern "C" __global__ void k(const __grid_constant__ Map x, float* y, int rows, int cols) {
  __shared__ __align__(128) float s[64]; __shared__ unsigned long long full; __shared__ float part;
  int t = threadIdx.x, row = blockIdx.x / 2; u32 rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (t == 0) part = 0;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sm(&full)) : "memory");
  __syncthreads();
  float a = 0; u32 parity = 0;
  for (int c = rank * 64; c < cols; c += 128, parity ^= 1) {
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(sm(&full)) : "memory");
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(sm(s)), "l"(&x), "r"(c), "r"(row), "r"(sm(&full)) : "memory");
    }
    wait(&full, parity);
    a += s[t];
    __syncthreads();
  }
  for (int d = 16; d; d >>= 1) a += __shfl_xor_sync(~0u, a, d);
  if (t % 32 == 0) atomicAdd(&part, a);
  cluster_sync();
  if (rank == 0 && t == 0) {
    float other; asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %1, 1; ld.shared::cluster.f32 %0, [a]; }" : "=f"(other) : "r"(sm(&part)) : "memory");
    y[row] = part + other;
  }
  cluster_sync();
})";

KernelSource source_of(const std::string& text) {
  KernelSource source = row_sum_source(text);
  source.plan.maps = {{"tile",
                       "x",
                       DType::f32,
                       {Expr("cols"), Expr("rows")},
                       {Expr("cols*4")},
                       {Expr(64), Expr(1)},
                       0}};
  PlanLaunch& launch = source.plan.launches[0];
  launch.grid = {Expr("rows*2")};
  launch.block = {Expr(64)};
  launch.cluster = {Expr(2)};
  launch.args[0].name = "tile";
  return source;
}

std::string verdict(const KernelSource& source, std::uint64_t seed) {
  const Task task = row_sum_task(5, 200);
  const Attempt<CompiledKernel> kernel = virtual_h200().compile(source);
  if (!kernel)
    return kernel.is_rejected() ? kernel.rejected().code + ": " + kernel.rejected().message
                                : kernel.error().message;
  Case what;
  what.workload = task.time_shapes[0];
  what.content.seed = seed;
  what.repeats = 1;
  return verdict_of(virtual_h200().run(TaskRef(task), *kernel, {&what, 1}));
}

std::string changed(const std::string& line, const std::string& to) {
  std::string out = shared_row;
  const std::size_t at = out.find(line);
  if (at == std::string::npos) throw std::runtime_error("no " + line);
  return out.replace(at, line.size(), to);
}

// A block sums the first half of another's row; past the grid's barrier each adds the second half
// of its own.
const std::string halves = R"(
#include <cooperative_groups.h>
__device__ float sum(const float* x, int from, int to) { float a = 0; for (int c = from; c < to; ++c) a += x[c]; return a; }
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int b = blockIdx.x, other = rows - 1 - b;
  if (threadIdx.x == 0) y[other] = sum(x + other * cols, 0, cols / 2);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) y[b] += sum(x + b * cols, cols / 2, cols);
})";

}  // namespace

TEST_CASE("Blocks of a cooperative grid meet as cooperative_groups lets them") {
  KernelSource source = row_sum_source(halves);
  const Attempt<CompiledKernel> apart = virtual_h200().compile(source);
  REQUIRE(apart.is_rejected());
  CHECK(apart.rejected().code == "gate.forbidden");
  source.plan.launches[0].cooperative = true;
  for (const std::uint64_t seed : {1, 2}) CHECK(verdict(source, seed) == "");
  const std::string meeting = "cooperative_groups::this_grid().sync();";
  source.text.erase(source.text.find(meeting), meeting.size());
  CHECK(verdict(source, 1) == "run.uninitialised");
}

TEST_CASE("A row sum through a tensor map and a cluster is proved in both modes", "[threads]") {
  for (const std::uint64_t seed : {1, 2}) CHECK(verdict(source_of(shared_row), seed) == "");
}

TEST_CASE("A row sum through a tensor map and a cluster is refused without a wait or a barrier",
          "[threads]") {
  CHECK(verdict(source_of(changed("    wait(&full, parity);\n", "")), 1).rfind("run.", 0) == 0);
  CHECK(verdict(source_of(changed("    __syncthreads();\n  }", "  }")), 1).rfind("run.", 0) == 0);
  CHECK(verdict(source_of(changed("  cluster_sync();\n  if", "  if")), 1).rfind("run.", 0) == 0);
  CHECK(verdict(source_of(changed("  }\n  cluster_sync();", "  }")), 1) == "run.race");
}

TEST_CASE("A cooperative launch that fits runs") {
  KernelSource source = row_sum_source(std::string(row_sum_head) + row_sum_honest);
  source.plan.launches[0].cooperative = true;
  CHECK(verdict(source, 1) == "");
}

}  // namespace cupilot
