// Cosine distance of row pairs: three sums at once in a float4 that goes through the shuffle tree together.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "cosine", "grid": ["cdiv(outer, 2)"], "block": [32, 2], "args": ["x", "t", "y", {"i32": "outer"}, {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 9, "mid": 100}, "in": {"x": ["fp32", "outer", "mid"], "t": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "cosine"}}
extern "C" __global__ void clear(float* y) { *y = 0.f; }

extern "C" __global__ void cosine(const float* x, const float* t, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= rows) return;
  float3 s = {};
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float a = x[row * cols + c], b = t[row * cols + c];
    s.x = fmaf(a, b, s.x), s.y = fmaf(a, a, s.y), s.z = fmaf(b, b, s.z);
  }
  for (int d = 16; d > 0; d >>= 1) {
    s.x += __shfl_xor_sync(~0u, s.x, d), s.y += __shfl_xor_sync(~0u, s.y, d), s.z += __shfl_xor_sync(~0u, s.z, d);
  }
  if (threadIdx.x == 0) atomicAdd(y, (1.f - s.x * rsqrtf(s.y * s.z)) / rows);
}
