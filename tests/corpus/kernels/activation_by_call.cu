// Functions that are not inlined, chosen by a switch on the row's number: real calls with a frame.
// cupilot: {"plan": {"launches": [{"entry": "activate", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 40}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "activation_by_row"}}
__device__ __noinline__ float relu(float v) { return fmaxf(v, 0.f); }
__device__ __noinline__ float square(float v) { return v * v; }
__device__ __noinline__ float softsign(float v) { return v / (1.f + fabsf(v)); }

__device__ __noinline__ float chosen(int kind, float v) {
  switch (kind) {
    case 0: return relu(v);
    case 1: return square(v);
    default: return softsign(v);
  }
}

extern "C" __global__ void activate(const float* x, float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = chosen(blockIdx.x % 3, x[blockIdx.x * cols + c]);
}
