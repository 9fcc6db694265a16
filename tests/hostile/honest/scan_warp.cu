// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "scan", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row, 32 columns at a time, by shuffles.
extern "C" __global__ void scan(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  const long long base = (long long)row * cols;
  float before = 0.0f;
  for (int from = 0; from < cols; from += 32) {
    float sum = from + lane < cols ? x[base + from + lane] : 0.0f;
    for (int distance = 1; distance < 32; distance *= 2) {
      const float left = __shfl_up_sync(0xffffffffu, sum, distance);
      if (lane >= distance) sum += left;
    }
    if (from + lane < cols) y[base + from + lane] = before + sum;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
}
