// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [24], "args": ["x", "y", {"i32": "cols"}]}]}}
// Twenty-four lanes take the maximum of what they shuffle; eight of those they read are not there.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  float largest = __int_as_float(0x7fc00000);
  for (int c = threadIdx.x; c < cols; c += 24) largest = fmaxf(largest, x[(long long)blockIdx.x * cols + c]);
  for (int h = 16; h > 0; h /= 2) largest = fmaxf(largest, __shfl_down_sync(0x00ffffffu, largest, h));
  if (threadIdx.x == 0) y[blockIdx.x] = largest;
}
