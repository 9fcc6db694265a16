// cupilot: {"task": ["tests/hostile/tasks/spmv.json"]}
// cupilot: {"plan": {"launches": [{"entry": "spmv", "grid": ["cdiv(rows, 8)"], "block": [64], "args": ["value", "column", "x", "y", {"i32": "rows"}, {"i32": "width"}]}]}}
// Eight lanes a row; lanes of a row past the end add nothing, but take part in the shuffles.
extern "C" __global__ void spmv(const float* value, const int* column, const float* x, float* y, int rows, int width) {
  const int row = blockIdx.x * 8 + threadIdx.x / 8, lane = threadIdx.x % 8;
  float sum = 0.0f;
  if (row < rows) {
    for (int e = lane; e < width; e += 8) sum += value[(long long)row * width + e] * x[column[(long long)row * width + e]];
  }
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance, 8);
  if (row < rows && lane == 0) y[row] = sum;
}
