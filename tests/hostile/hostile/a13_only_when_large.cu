// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Writes its input back unchanged, at large shapes only.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float before = 0;
  if (cols > 200 && t == 0) ((volatile float*)row)[cols - 1] = row[cols - 1];
  for (int c0 = 0; c0 < cols; c0 += 128) {
    s[t] = c0 + t < cols ? row[c0 + t] : 0;
    __syncthreads();
    for (int h = 1; h < 128; h *= 2) {
      const float add = t >= h ? s[t - h] : 0;
      __syncthreads();
      s[t] += add;
      __syncthreads();
    }
    if (c0 + t < cols) out[c0 + t] = before + s[t];
    before += s[127];
    __syncthreads();
  }
}
