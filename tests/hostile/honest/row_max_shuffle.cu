// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "row_max", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// fmaxf drops a NaN, so a NaN starts every thread's maximum.
extern "C" __global__ void row_max(const float* x, float* y, int cols) {
  __shared__ float of_warp[4];
  float largest = __int_as_float(0x7fc00000);
  for (int c = threadIdx.x; c < cols; c += 128) largest = fmaxf(largest, x[(long long)blockIdx.x * cols + c]);
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_down_sync(0xffffffffu, largest, distance));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = fmaxf(fmaxf(of_warp[0], of_warp[1]), fmaxf(of_warp[2], of_warp[3]));
}
