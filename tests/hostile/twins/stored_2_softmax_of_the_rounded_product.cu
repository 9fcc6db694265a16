// cupilot: {"task": ["tests/hostile/tasks/twin_product_soft.json"]}
// cupilot: {"plan": {"launches": [{"entry": "product_soft", "grid": ["rows"], "block": [32], "args": ["a", "b", "s", "y", {"i32": "cols"}]}]}}
// A warp a row: products are stored in fp16, and the softmax is of what was stored.
#include <cuda_fp16.h>

extern "C" __global__ void product_soft(const __half* a, const __half* b, __half* s, float* y, int cols) {
  const long long base = (long long)blockIdx.x * cols;
  const int lane = threadIdx.x;
  const auto product_at = [&](int c) { return __half2float(a[base + c]) * __half2float(b[base + c]); };
  const auto value = [&](int c) { return __half2float(s[base + c]); };
  for (int c = lane; c < cols; c += 32) s[base + c] = __float2half(product_at(c));
  __syncwarp();
  float largest = value(lane < cols ? lane : 0);
  for (int c = lane; c < cols; c += 32) largest = fmaxf(largest, value(c));
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
  float sum = 0;
  for (int c = lane; c < cols; c += 32) sum += expf(value(c) - largest);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int c = lane; c < cols; c += 32) y[base + c] = expf(value(c) - largest) / sum;
}
