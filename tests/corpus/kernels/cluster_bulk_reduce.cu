// The second block of a pair adds its whole vector to the first one's shared memory by cp.reduce.async.bulk between blocks.
// cupilot: {"plan": {"launches": [{"entry": "add_halves", "grid": [2], "block": [64], "cluster": [2], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"mid": 2, "inner": 128}, "in": {"x": ["i32", "mid", "inner", {"kind": "integers", "below": 1000}]}, "out": {"y": ["i32", "inner"]}, "expect": {"y": "sum"}, "tolerance": 0}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in_first(unsigned address) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address));
  return there;
}
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

extern "C" __global__ void add_halves(const int* x, int* y) {
  __shared__ __align__(16) int part[128];
  __shared__ u64 added;
  for (int i = threadIdx.x; i < 128; i += 64) part[i] = x[blockIdx.x * 128 + i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&added)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    if (blockIdx.x == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at(&added)) : "memory");
  }
  cluster_sync();
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 512, [%2];" ::"r"(in_first(at(part))),
                 "r"(at(part)), "r"(in_first(at(&added))) : "memory");
  }
  if (blockIdx.x == 0) {
    unsigned done = 0;
    while (!done) {
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done) : "r"(at(&added)) : "memory");
    }
    for (int i = threadIdx.x; i < 128; i += 64) y[i] = part[i];
  }
  cluster_sync();
}
