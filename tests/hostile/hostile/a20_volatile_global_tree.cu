// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "rows * 128"}], "launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", "part", {"i32": "cols"}]}]}}
// The tree of a warp as in 2010 over volatile global memory: no __syncwarp anywhere, so it holds only where lanes keep step.
extern "C" __global__ void k(const float* x, float* y, volatile float* part, int cols) {
  const int t = threadIdx.x;
  volatile float* s = part + blockIdx.x * 32;
  float a = 0;
  for (int c = t; c < cols; c += 32) a += x[(long long)blockIdx.x * cols + c];
  s[t] = a;
  for (int h = 16; h > 0; h /= 2) {
    if (t < h) s[t] = s[t] + s[t + h];
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
