// Each block passes a partial sum to the next by st.async, whose bytes complete the receiver's mbarrier: a chain over the cluster.
// cupilot: {"plan": {"launches": [{"entry": "chain", "grid": ["4 * outer"], "block": [32], "cluster": [4], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 512}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer"]}, "expect": {"y": "sum"}}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in_block(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

extern "C" __global__ void chain(const float* x, float* y, int cols) {
  __shared__ float before;
  __shared__ u64 got;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&got)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;" ::"r"(at(&got)) : "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  float sum = 0.f;
  for (int c = rank * 32 + threadIdx.x; c < cols; c += 128) sum += x[(size_t)(blockIdx.x / 4) * cols + c];
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x == 0) {
    if (rank > 0) {
      unsigned done = 0;
      while (!done) {
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(at(&got)) : "memory");
      }
      sum += before;
    }
    if (rank < 3) {
      asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(in_block(at(&before), rank + 1)),
                   "r"(__float_as_uint(sum)), "r"(in_block(at(&got), rank + 1)) : "memory");
    } else {
      y[blockIdx.x / 4] = sum;
    }
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
