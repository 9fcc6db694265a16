// Hinge loss with one target a column (broadcast over rows) and cuda::atomic_ref.
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "hinge", "grid": ["outer"], "block": [64], "args": ["x", "t", "sum", {"i32": "mid"}]}, {"entry": "divide", "grid": [1], "block": [1], "args": ["sum", "y", {"i32": "outer * mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 300}, "in": {"x": ["fp32", "outer", "mid"], "t": ["fp32", "mid", {"kind": "signs"}]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "hinge"}}
#include <cuda/atomic>

extern "C" __global__ void hinge(const float* x, const float* t, float* sum, int cols) {
  float mine = 0.f;
  for (int c = threadIdx.x; c < cols; c += 64) mine += fmaxf(0.f, 1.f - x[(size_t)blockIdx.x * cols + c] * __ldg(t + c));
  for (int s = 16; s > 0; s >>= 1) mine += __shfl_down_sync(~0u, mine, s);
  if (threadIdx.x % 32 == 0) {
    cuda::atomic_ref<float, cuda::thread_scope_device>(*sum).fetch_add(mine, cuda::memory_order_relaxed);
  }
}

extern "C" __global__ void divide(const float* sum, float* y, int n) { *y = *sum / n; }
