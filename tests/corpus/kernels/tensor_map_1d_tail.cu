// A one-dimensional tensor map: the tail past the end arrives as zeros, so that the sum needs no mask.
// cupilot: {"plan": {"maps": [{"name": "line", "of": "x", "type": "fp32", "dims": ["mid"], "pitch": [], "box": [256], "swizzle": 0}], "launches": [{"entry": "total", "grid": [1], "block": [64], "args": ["line", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"mid": 1000}, "in": {"x": ["fp32", "mid"]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "sum"}}
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

extern "C" __global__ void total(const __grid_constant__ Map line, float* y, int n) {
  __shared__ __align__(128) float tile[256];
  __shared__ u64 full;
  __shared__ float part[2];
  float sum = 0.f;
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  for (int i = 0, lap = 0; i < n; i += 256, ++lap) {
    if (threadIdx.x == 0) {
      expect(&full, 1024);
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(at(tile)),
                   "l"(&line), "r"(i), "r"(at(&full)) : "memory");
    }
    wait(&full, lap & 1);
    for (int j = threadIdx.x; j < 256; j += 64) sum += tile[j];
    __syncthreads();
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) *y = part[0] + part[1];
}
