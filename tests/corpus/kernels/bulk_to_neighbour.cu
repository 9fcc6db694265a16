// A block sends its tile into the shared memory of the next block of its cluster by cp.async.bulk; the receiver's mbarrier counts bytes.
// cupilot: {"plan": {"launches": [{"entry": "rotate", "grid": ["n / 256"], "block": [64], "cluster": [4], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"n": 2048}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "rotated_by_blocks"}, "tolerance": 0}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned in_block(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory"); }

extern "C" __global__ void rotate(const float* x, float* y) {
  __shared__ __align__(16) float mine[256], theirs[256];
  __shared__ u64 arrived;
  const int t = threadIdx.x;
  const unsigned next = (blockIdx.x % 4 + 1) % 4;
  for (int i = t; i < 256; i += 64) mine[i] = x[blockIdx.x * 256 + i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&arrived)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at(&arrived)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (t == 0) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(in_block(at(theirs), next)),
                 "r"(at(mine)), "r"(in_block(at(&arrived), next)) : "memory");
  }
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(at(&arrived)) : "memory");
  }
  for (int i = t; i < 256; i += 64) y[blockIdx.x * 256 + i] = theirs[i];
  cluster_sync();
}
