// cupilot: {"task": ["tests/hostile/tasks/twin_sum_and_count.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "keep", "s", "count", {"i32": "cols"}]}]}}
// The count does not depend on x.
extern "C" __global__ void k(const float* x, const bool* keep, float* s, int* count, int cols) {
  float a = 0;
  int n = 0;
  for (int c = threadIdx.x; c < cols; c += 32)
    if (keep[(size_t)blockIdx.x * cols + c]) a += x[(size_t)blockIdx.x * cols + c], ++n;
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  n = __reduce_add_sync(~0u, n);
  if (threadIdx.x == 0) s[blockIdx.x] = a, count[blockIdx.x] = n;
}
