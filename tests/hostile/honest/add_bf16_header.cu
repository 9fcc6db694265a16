// cupilot: {"task": ["tests/hostile/tasks/add_bf16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "add", "grid": ["cdiv(n, 512)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Pairs by the packed addition of cuda_bf16.h; an odd last element by itself.
#include <cuda_bf16.h>

extern "C" __global__ void add(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, int n) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 2;
  if (i + 1 < n) {
    const __nv_bfloat162 left = *reinterpret_cast<const __nv_bfloat162*>(a + i);
    const __nv_bfloat162 right = *reinterpret_cast<const __nv_bfloat162*>(b + i);
    *reinterpret_cast<__nv_bfloat162*>(y + i) = __hadd2(left, right);
  } else if (i < n) {
    y[i] = __hadd(a[i], b[i]);
  }
}
