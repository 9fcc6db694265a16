// cupilot: {"task": ["tests/hostile/tasks/spmv.json"]}
// cupilot: {"plan": {"launches": [{"entry": "spmv", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["value", "column", "x", "y", {"i32": "rows"}, {"i32": "width"}]}]}}
extern "C" __global__ void spmv(const float* value, const int* column, const float* x, float* y, int rows, int width) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int e = 0; e < width; ++e) {
    const long long at = (long long)row * width + e;
    sum += value[at] * x[column[at]];
  }
  y[row] = sum;
}
