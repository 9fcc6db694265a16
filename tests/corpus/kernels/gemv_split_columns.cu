// Matrix times vector, columns split over blocks that add by red.global.
// cupilot: {"plan": {"buffers": [], "launches": [{"entry": "clear", "grid": [1], "block": ["m"], "args": ["d"]}, {"entry": "gemv", "grid": ["cdiv(k, 256)", "m"], "block": [64], "args": ["a", "b", "d", {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 6, "k": 900}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k"]}, "out": {"d": ["fp32", "m"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void clear(float* d) { d[threadIdx.x] = 0.f; }

extern "C" __global__ void gemv(const float* a, const float* b, float* d, int k) {
  const int begin = blockIdx.x * 256, end = min(begin + 256, k);
  float sum = 0.f;
  for (int i = begin + threadIdx.x; i < end; i += 64) sum = fmaf(a[blockIdx.y * k + i], b[i], sum);
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, s);
  if (threadIdx.x % 32 == 0) asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(d + blockIdx.y), "f"(sum) : "memory");
}
