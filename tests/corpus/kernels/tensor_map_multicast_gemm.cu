// A cluster of two blocks shares the rows of A: each loads half a slab and multicasts it to both; remote releases free the stage.
// cupilot: {"plan": {"maps": [{"name": "ma", "of": "a", "type": "fp32", "dims": ["k", "m"], "pitch": ["k * 4"], "box": [16, 8], "swizzle": 0}, {"name": "mb", "of": "b", "type": "fp32", "dims": ["n", "k"], "pitch": ["n * 4"], "box": [16, 16], "swizzle": 0}], "launches": [{"entry": "gemm", "grid": ["n / 16", "m / 16"], "block": [16, 16], "cluster": [2, 1], "args": ["ma", "mb", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 64, "k": 80}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
struct __align__(64) Map {
  char bytes[128];
};
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(u64* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)), "r"(bytes) : "memory");
}
__device__ void wait(u64* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
  }
}
__device__ void release_in(u64* barrier, unsigned rank) {
  asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\tmbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(at(barrier)),
               "r"(rank) : "memory");
}
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }

extern "C" __global__ void gemm(const __grid_constant__ Map ma, const __grid_constant__ Map mb, float* d, int n, int k) {
  __shared__ __align__(128) float as[2][16][16], bs[2][16][16];
  __shared__ u64 full[2], empty[2];
  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx, steps = k / 16;
  const unsigned rank = blockIdx.x % 2;
  if (t == 0) {
    for (int s = 0; s < 2; ++s) init(&full[s], 1), init(&empty[s], 16);
  }
  cluster_sync();
  const auto fetch = [&](int i) {
    const int s = i % 2;
    if (i >= 2) wait(&empty[s], (i / 2 - 1) & 1);
    expect(&full[s], 2048);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
            at(as[s][rank * 8])),
        "l"(&ma), "r"(i * 16), "r"(blockIdx.y * 16 + rank * 8), "r"(at(&full[s])), "h"((unsigned short)3) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(bs[s])),
                 "l"(&mb), "r"(blockIdx.x * 16), "r"(i * 16), "r"(at(&full[s])) : "memory");
  };
  if (t == 0) fetch(0), fetch(1);
  float sum = 0.f;
  for (int i = 0; i < steps; ++i) {
    wait(&full[i % 2], i / 2 & 1);
    for (int q = 0; q < 16; ++q) sum += as[i % 2][ty][q] * bs[i % 2][q][tx];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (t % 32 == 0) release_in(&empty[i % 2], 0), release_in(&empty[i % 2], 1);
    if (t == 0 && i + 2 < steps) fetch(i + 2);
  }
  d[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = sum;
  cluster_sync();
}
