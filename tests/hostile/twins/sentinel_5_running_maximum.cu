// cupilot: {"task": ["tests/hostile/tasks/twin_running_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A running maximum by chunks of a warp.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  float carry = __int_as_float(0x7fffffff);
  for (int c0 = 0; c0 < cols; c0 += 32) {
    const int c = c0 + threadIdx.x;
    float m = c < cols ? x[(size_t)blockIdx.x * cols + c] : carry;
    for (int h = 1; h < 32; h *= 2) {
      const float o = __shfl_up_sync(~0u, m, h);
      if (threadIdx.x >= h) m = fmaxf(m, o);
    }
    m = fmaxf(m, carry);
    if (c < cols) y[(size_t)blockIdx.x * cols + c] = m;
    carry = __shfl_sync(~0u, m, 31);
  }
}
