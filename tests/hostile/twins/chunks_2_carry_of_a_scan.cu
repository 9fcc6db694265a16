// cupilot: {"task": ["tests/hostile/tasks/twin_iscan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// A running sum by chunks of 256; the last thread hands the carry on.
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int of_warp[8], carry;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t == 0) carry = 0;
  for (int c0 = 0; c0 < cols; c0 += 256) {
    const int c = c0 + t;
    int a = c < cols ? x[(size_t)blockIdx.x * cols + c] : 0;
    for (int h = 1; h < 32; h <<= 1) {
      const int b = __shfl_up_sync(~0u, a, h);
      if (lane >= h) a += b;
    }
    if (lane == 31) of_warp[warp] = a;
    __syncthreads();
    for (int i = 0; i < warp; ++i) a += of_warp[i];
    a += carry;
    if (c < cols) y[(size_t)blockIdx.x * cols + c] = a;
    __syncthreads();
    if (t == 255) carry = a;
  }
}
