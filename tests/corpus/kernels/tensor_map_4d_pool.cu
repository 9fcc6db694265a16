// 2 x 2 max pooling of an image batch through four-dimensional tiles of the map, one tile a channel block.
// cupilot: {"plan": {"maps": [{"name": "images", "of": "x", "type": "fp32", "dims": ["w", "h", "n", 1], "pitch": ["w * 4", "w * h * 4", "w * h * n * 4"], "box": [16, 4, 2, 1], "swizzle": 0}], "launches": [{"entry": "pool", "grid": ["cdiv(w, 16)", "cdiv(h, 4)", "cdiv(n, 2)"], "block": [8, 2, 2], "args": ["images", "y", {"i32": "n"}, {"i32": "h / 2"}, {"i32": "w / 2"}]}]}}
// corpus: {"sizes": {"n": 5, "h": 10, "w": 24, "kh": 2, "kw": 2, "sh": 2, "sw": 2}, "in": {"x": ["fp32", "n", "h", "w"]}, "out": {"y": ["fp32", "n", "h / 2", "w / 2"]}, "expect": {"y": "max_pool"}, "tolerance": 0}
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

extern "C" __global__ void pool(const __grid_constant__ Map images, float* y, int n, int oh, int ow) {
  __shared__ __align__(128) float tile[2][4][16];
  __shared__ u64 full;
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    init(&full, 1);
    expect(&full, sizeof(tile));
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(at(tile)),
                 "l"(&images), "r"(blockIdx.x * 16), "r"(blockIdx.y * 4), "r"(blockIdx.z * 2), "r"(0), "r"(at(&full)) : "memory");
  }
  __syncthreads();
  wait(&full, 0);
  const int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 2 + threadIdx.y, image = blockIdx.z * 2 + threadIdx.z;
  if (c >= ow || r >= oh || image >= n) return;
  const float* corner = &tile[threadIdx.z][2 * threadIdx.y][2 * threadIdx.x];
  y[(image * oh + r) * ow + c] = fmaxf(fmaxf(corner[0], corner[1]), fmaxf(corner[16], corner[17]));
}
