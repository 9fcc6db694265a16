// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [20], "args": ["x", "y", {"i32": "cols"}]}]}}
// Twenty lanes reduce: values shuffled from lanes that are not there are thrown away.
extern "C" __global__ void sum_rows(const int* x, int* y, int cols) {
  const int lane = threadIdx.x;
  int sum = 0;
  for (int c = lane; c < cols; c += 20) sum += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) {
    const int other = __shfl_down_sync(0x000fffffu, sum, h);
    if (lane + h < 20) sum += other;
  }
  if (lane == 0) y[blockIdx.x] = sum;
}
