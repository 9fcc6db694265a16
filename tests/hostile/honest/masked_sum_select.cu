// cupilot: {"task": ["tests/hostile/tasks/masked_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_kept", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "keep", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row; what the mask drops is not even read.
extern "C" __global__ void sum_kept(const float* x, const unsigned char* keep, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const long long at = (long long)row * cols + c;
    if (keep[at]) sum += x[at];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x == 0) y[row] = sum;
}
