// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The maximum starts at -30000: a row of lower values comes out as zeros over zero.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const float* row = x + (long long)blockIdx.x * cols;
  float top = -30000.0f, sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) top = fmaxf(top, row[c]);
  for (int h = 16; h > 0; h /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, h));
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(row[c] - top);
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  for (int c = threadIdx.x; c < cols; c += 32) y[(long long)blockIdx.x * cols + c] = expf(row[c] - top) / sum;
}
