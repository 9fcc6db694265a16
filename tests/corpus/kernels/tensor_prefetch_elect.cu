// One lane chosen by elect.sync prefetches the next tile into L2 by its tensor map and loads the present one.
// cupilot: {"plan": {"maps": [{"name": "rows", "of": "x", "type": "bf16", "dims": ["mid", "outer"], "pitch": ["mid * 2"], "box": [64, 1], "swizzle": 0}], "launches": [{"entry": "sums", "grid": ["outer"], "block": [32], "args": ["rows", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 200}, "in": {"x": ["bf16", "outer", "mid"]}, "out": {"y": ["fp32", "outer"]}, "expect": {"y": "sum"}}
#include <cuda_bf16.h>

struct __align__(64) Map {
  char bytes[128];
};
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ bool elected() {
  unsigned is;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(is));
  return is != 0;
}

extern "C" __global__ void sums(const __grid_constant__ Map rows, float* y, int cols) {
  __shared__ __align__(128) __nv_bfloat16 tile[64];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  float sum = 0.f;
  for (int c = 0, lap = 0; c < cols; c += 64, ++lap) {
    if (elected()) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(at(&full)) : "memory");
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(tile)),
                   "l"(&rows), "r"(c), "r"(blockIdx.x), "r"(at(&full)) : "memory");
      if (c + 64 < cols) asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&rows), "r"(c + 64), "r"(blockIdx.x) : "memory");
    }
    unsigned done = 0;
    while (!done) {
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done) : "r"(at(&full)), "r"(lap & 1) : "memory");
    }
    const float2 v = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(tile + 2 * threadIdx.x));
    sum += v.x + v.y;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
