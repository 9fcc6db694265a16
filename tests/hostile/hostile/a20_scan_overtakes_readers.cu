// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "scan", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// Nothing keeps a lane from writing the next 64 columns, or the sum of all before, while others of its warp read these.
extern "C" __global__ void scan(const float* x, float* y, int cols) {
  __shared__ float tree[64];
  __shared__ float before;
  const int t = threadIdx.x;
  const long long base = (long long)blockIdx.x * cols;
  if (t == 0) before = 0.0f;
  for (int from = 0; from < cols; from += 64) {
    const int i = from + 2 * t;
    const float first = i < cols ? x[base + i] : 0.0f, second = i + 1 < cols ? x[base + i + 1] : 0.0f;
    tree[2 * t] = first;
    tree[2 * t + 1] = second;
    for (int step = 1; step < 64; step *= 2) {
      __syncthreads();
      const int right = (2 * t + 2) * step - 1;
      if (right < 64) tree[right] += tree[right - step];
    }
    __syncthreads();
    const float all = tree[63];
    __syncthreads();
    if (t == 0) tree[63] = 0.0f;
    for (int step = 32; step > 0; step /= 2) {
      __syncthreads();
      const int right = (2 * t + 2) * step - 1;
      if (right < 64) {
        const float left = tree[right - step];
        tree[right - step] = tree[right];
        tree[right] += left;
      }
    }
    __syncthreads();
    if (i < cols) y[base + i] = before + tree[2 * t] + first;
    if (i + 1 < cols) y[base + i + 1] = before + tree[2 * t + 1] + second;
    if (t == 0) before += all;
  }
}
