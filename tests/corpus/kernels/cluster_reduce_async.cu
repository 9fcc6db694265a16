// Blocks of a cluster add their counts into the first block's shared memory by red.async; the bytes complete its mbarrier.
// cupilot: {"plan": {"launches": [{"entry": "count", "grid": ["4 * outer"], "block": [32], "cluster": [4], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 5, "mid": 300}, "in": {"x": ["i32", "outer", "mid", {"kind": "integers", "below": 50}]}, "out": {"y": ["i32", "outer"]}, "expect": {"y": "sum"}, "tolerance": 0}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in_first(unsigned address) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address));
  return there;
}
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

extern "C" __global__ void count(const int* x, int* y, int cols) {
  __shared__ int total;
  __shared__ u64 complete;
  const int rank = blockIdx.x % 4;
  if (threadIdx.x == 0 && rank == 0) {
    total = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&complete)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(at(&complete)) : "memory");
  }
  cluster_sync();
  int sum = 0;
  for (int c = rank * 32 + threadIdx.x; c < cols; c += 128) sum += x[blockIdx.x / 4 * cols + c];
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x == 0) {
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];" ::"r"(in_first(at(&total))), "r"(sum),
                 "r"(in_first(at(&complete))) : "memory");
  }
  if (threadIdx.x == 0 && rank == 0) {
    unsigned done = 0;
    while (!done) {
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done) : "r"(at(&complete)) : "memory");
    }
    y[blockIdx.x / 4] = total;
  }
  cluster_sync();
}
