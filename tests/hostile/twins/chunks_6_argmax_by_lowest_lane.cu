// cupilot: {"task": ["tests/hostile/tasks/twin_amax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// Value and place of the best so far are kept in shared memory and improved chunk by chunk by one warp.
extern "C" __global__ void k(const float* x, int* y, int cols) {
  __shared__ float value[256];
  __shared__ int place[256];
  const int t = threadIdx.x;
  const float* p = x + (size_t)blockIdx.x * cols;
  float best = p[0];
  int at = 0;
  for (int c0 = 0; c0 < cols; c0 += 256) {
    value[t] = c0 + t < cols ? p[c0 + t] : p[0];
    place[t] = c0 + t < cols ? c0 + t : 0;
    __syncthreads();
    if (t < 32)
      for (int i = t; i < 256; i += 32)
        if (value[i] > best) best = value[i], at = place[i];
    __syncthreads();
  }
  if (t < 32) {
    for (int h = 16; h > 0; h >>= 1) {
      const float b = __shfl_down_sync(~0u, best, h);
      const int j = __shfl_down_sync(~0u, at, h);
      if (b > best) best = b, at = j;
    }
    if (t == 0) y[blockIdx.x] = at;
  }
}
