// A five-dimensional tensor scaled tile by tile, in and out by maps of rank five.
// cupilot: {"plan": {"maps": [{"name": "from", "of": "x", "type": "fp32", "dims": ["w", "h", "d", "c", "n"], "pitch": ["w * 4", "w * h * 4", "w * h * d * 4", "w * h * d * c * 4"], "box": [8, 2, 2, 2, 1], "swizzle": 0}, {"name": "to", "of": "y", "type": "fp32", "dims": ["w", "h", "d", "c", "n"], "pitch": ["w * 4", "w * h * 4", "w * h * d * 4", "w * h * d * c * 4"], "box": [8, 2, 2, 2, 1], "swizzle": 0}], "launches": [{"entry": "scale", "grid": ["cdiv(w, 8) * cdiv(h, 2)", "cdiv(d, 2) * cdiv(c, 2)", "n"], "block": [32], "args": ["from", "to", {"i32": "cdiv(w, 8)"}, {"i32": "cdiv(d, 2)"}]}]}}
// corpus: {"sizes": {"n": 2, "c": 3, "d": 3, "h": 5, "w": 12}, "in": {"x": ["fp32", "n", "c", "d", "h", "w"]}, "out": {"y": ["fp32", "n", "c", "d", "h", "w"]}, "expect": {"y": "doubled"}, "tolerance": 0}
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

extern "C" __global__ void scale(const __grid_constant__ Map from, const __grid_constant__ Map to, int across, int deep) {
  __shared__ __align__(128) float tile[64];
  __shared__ u64 full;
  const int x = blockIdx.x % across * 8, y = blockIdx.x / across * 2, z = blockIdx.y % deep * 2, c = blockIdx.y / deep * 2, n = blockIdx.z;
  if (threadIdx.x == 0) {
    init(&full, 1);
    expect(&full, 256);
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(at(tile)),
                 "l"(&from), "r"(x), "r"(y), "r"(z), "r"(c), "r"(n), "r"(at(&full)) : "memory");
  }
  __syncwarp();
  wait(&full, 0);
  for (int i = threadIdx.x; i < 64; i += 32) tile[i] *= 2.f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(&to), "r"(x), "r"(y),
                 "r"(z), "r"(c), "r"(n), "r"(at(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}
