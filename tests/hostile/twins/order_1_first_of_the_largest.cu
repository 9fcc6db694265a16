// cupilot: {"task": ["tests/hostile/tasks/twin_first_largest.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// The first place of the largest; equal values are told apart by their places.
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int value[4], place[4];
  const int t = threadIdx.x;
  int best = -2147483647 - 1, at = 0x7fffffff;
  for (int c = t; c < cols; c += 128) {
    const int v = x[(size_t)blockIdx.x * cols + c];
    if (v > best || at == 0x7fffffff) best = v, at = c;
  }
  for (int h = 16; h > 0; h /= 2) {
    const int v = __shfl_down_sync(~0u, best, h), p = __shfl_down_sync(~0u, at, h);
    if (v > best || (v == best && p < at)) best = v, at = p;
  }
  if (t % 32 == 0) value[t / 32] = best, place[t / 32] = at;
  __syncthreads();
  if (t == 0) {
    for (int w = 1; w < 4; ++w)
      if (value[w] > best || (value[w] == best && place[w] < at)) best = value[w], at = place[w];
    y[blockIdx.x] = at;
  }
}
