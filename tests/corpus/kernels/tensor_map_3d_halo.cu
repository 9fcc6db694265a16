// 3 x 3 x 3 convolution of one channel: the tile with its halo comes by a three-dimensional map, padding is the map's zero fill. Tiles start at multiples of 16 bytes.
// cupilot: {"plan": {"maps": [{"name": "image", "of": "x", "type": "fp32", "dims": ["w", "h", "d"], "pitch": ["w * 4", "w * h * 4"], "box": [16, 6, 4], "swizzle": 0}], "launches": [{"entry": "stencil", "grid": ["cdiv(w, 8)", "cdiv(h, 4)", "cdiv(d, 2)"], "block": [8, 4, 2], "args": ["image", "f", "y", {"i32": "d"}, {"i32": "h"}, {"i32": "w"}]}]}}
// corpus: {"sizes": {"n": 1, "c": 1, "o": 1, "d": 5, "h": 7, "w": 12, "kd": 3, "kh": 3, "kw": 3}, "constants": {"pd": 1, "ph": 1, "pw": 1}}
// corpus: {"in": {"x": ["fp32", "n", "c", "d", "h", "w"], "f": ["fp32", "kd", "kh", "kw"]}, "out": {"y": ["fp32", "n", "o", "d", "h", "w"]}, "expect": {"y": "conv"}}
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

extern "C" __global__ void stencil(const __grid_constant__ Map image, const float* f, float* y, int d, int h, int w) {
  __shared__ __align__(128) float tile[4][6][16];
  __shared__ u64 full;
  const int x0 = blockIdx.x * 8, y0 = blockIdx.y * 4, z0 = blockIdx.z * 2;
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    init(&full, 1);
    expect(&full, sizeof(tile));
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(at(tile)),
                 "l"(&image), "r"(x0 - 4), "r"(y0 - 1), "r"(z0 - 1), "r"(at(&full)) : "memory");
  }
  __syncthreads();
  wait(&full, 0);
  const int c = x0 + threadIdx.x, r = y0 + threadIdx.y, z = z0 + threadIdx.z;
  if (c >= w || r >= h || z >= d) return;
  float sum = 0.f;
  for (int t = 0; t < 27; ++t) sum = fmaf(f[t], tile[threadIdx.z + t / 9][threadIdx.y + t / 3 % 3][threadIdx.x + 3 + t % 3], sum);
  y[(z * h + r) * w + c] = sum;
}
