// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Reads one element past a shared array, where another one lies.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float loaded[128], s[128], summed[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float before = 0;
  for (int c0 = 0; c0 < cols; c0 += 128) {
    loaded[t] = c0 + t < cols ? row[c0 + t] : 0;
    summed[t] = 0;
    __syncthreads();
    s[t] = loaded[t];
    __syncthreads();
    for (int h = 1; h < 128; h *= 2) {
      const float add = t >= h ? s[t - h] : 0;
      __syncthreads();
      s[t] += add;
      __syncthreads();
    }
    summed[127 - t] = before + s[t];
    const float next = 0 * s[t + 1];
    __syncthreads();
    if (c0 + t < cols) out[c0 + t] = summed[127 - t] + next;
    before += s[127];
    __syncthreads();
  }
}
