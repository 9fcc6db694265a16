// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row: shuffles within warps, then the first warp adds the warps' sums.
__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float part[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 256) sum += x[(long long)blockIdx.x * cols + c];
  sum = warp_sum(sum);
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  sum = warp_sum(lane < 8 ? part[lane] : 0.0f);
  if (lane == 0) y[blockIdx.x] = sum;
}
