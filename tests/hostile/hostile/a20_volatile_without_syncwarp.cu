// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The last steps of the tree as in 2010: volatile shared memory, no __syncwarp.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  s[t] = a;
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* w = s;
    for (int h = 32; h > 0; h /= 2) w[t] += w[t + h];
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
