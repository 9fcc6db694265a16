// One cp.async.bulk.multicast brings a tile into both blocks of a cluster; each multiplies it by its own column factor.
// cupilot: {"plan": {"launches": [{"entry": "outer", "grid": [2], "block": [64], "cluster": [2], "args": ["a", "b", "d"]}]}}
// corpus: {"sizes": {"m": 2, "n": 256, "k": 1}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
#include <cuda/ptx>
#include <cuda/std/cstdint>
namespace ptx = cuda::ptx;

extern "C" __global__ void outer(const float* a, const float* b, float* d) {
  __shared__ alignas(128) float row[256];
  __shared__ cuda::std::uint64_t full;
  const int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(row));
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (t == 0 && blockIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, row, b, sizeof(row), &full, cuda::std::uint16_t{3});
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {
  }
  for (int i = t; i < 256; i += 64) d[blockIdx.x * 256 + i] = a[blockIdx.x] * row[i];
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}
