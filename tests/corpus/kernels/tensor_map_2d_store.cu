// Two-dimensional tiles in and out by tensor maps with a 128-byte swizzle on the way in; the edges need no code.
// cupilot: {"plan": {"maps": [{"name": "from", "of": "x", "type": "fp32", "dims": ["cols", "rows"], "pitch": ["cols * 4"], "box": [32, 8], "swizzle": 128}, {"name": "to", "of": "y", "type": "fp32", "dims": ["cols", "rows"], "pitch": ["cols * 4"], "box": [32, 8], "swizzle": 0}], "launches": [{"entry": "scale", "grid": ["cdiv(cols, 32)", "cdiv(rows, 8)"], "block": [64], "args": ["from", "to"]}]}}
// corpus: {"sizes": {"rows": 21, "cols": 76}, "in": {"x": ["fp32", "rows", "cols"]}, "out": {"y": ["fp32", "rows", "cols"]}, "expect": {"y": "doubled"}, "tolerance": 0}
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

extern "C" __global__ void scale(const __grid_constant__ Map from, const __grid_constant__ Map to) {
  __shared__ __align__(1024) float in[8][32];
  __shared__ __align__(128) float out[8][32];
  __shared__ u64 full;
  const int left = blockIdx.x * 32, top = blockIdx.y * 8;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&to) : "memory");
    init(&full, 1);
    expect(&full, 1024);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(in)),
                 "l"(&from), "r"(left), "r"(top), "r"(at(&full)) : "memory");
  }
  __syncthreads();
  wait(&full, 0);
  for (int i = threadIdx.x; i < 256; i += 64) {
    const int r = i / 32, c = i % 32;
    out[r][c] = 2.f * in[r][((c / 4) ^ r) * 4 + c % 4];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(left), "r"(top), "r"(at(out)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}
