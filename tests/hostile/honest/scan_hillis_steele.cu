// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "scan", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row, 64 columns at a time: each step adds what stands twice as far away. Two buffers take turns.
extern "C" __global__ void scan(const float* x, float* y, int cols) {
  __shared__ float buffer[2][64];
  const int t = threadIdx.x;
  const long long base = (long long)blockIdx.x * cols;
  float before = 0.0f;
  for (int from = 0; from < cols; from += 64) {
    int now = 0;
    buffer[now][t] = from + t < cols ? x[base + from + t] : 0.0f;
    __syncthreads();
    for (int distance = 1; distance < 64; distance *= 2) {
      buffer[1 - now][t] = t >= distance ? buffer[now][t - distance] + buffer[now][t] : buffer[now][t];
      now = 1 - now;
      __syncthreads();
    }
    if (from + t < cols) y[base + from + t] = before + buffer[now][t];
    before += buffer[now][63];
    __syncthreads();
  }
}
