// cupilot: {"task": ["tests/hostile/tasks/maxpool.json"]}
// cupilot: {"plan": {"launches": [{"entry": "pool", "grid": ["cdiv(w, 32)", "h", "planes"], "block": [32], "args": ["x", "y", {"i32": "w"}]}]}}
// A block row a row of the output; the rows above it are pairs of columns, read as 8 bytes.
extern "C" __global__ void pool(const float2* x, float* y, int w) {
  const int j = blockIdx.x * 32 + threadIdx.x;
  if (j >= w) return;
  const long long row = (long long)blockIdx.z * gridDim.y + blockIdx.y;
  const float2 a = x[2 * row * w + j], b = x[(2 * row + 1) * w + j];
  y[row * w + j] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}
