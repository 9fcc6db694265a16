// cupilot: {"task": ["tests/hostile/tasks/twin_value_and_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["x", "bias", "best", "at", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The place does not depend on the bias.
extern "C" __global__ void k(const float* x, const float* bias, float* best, int* at, int rows, int cols) {
  const int r = blockIdx.x * 32 + threadIdx.x;
  if (r >= rows) return;
  int b = 0;
  for (int c = 1; c < cols; ++c)
    if (x[(size_t)r * cols + c] > x[(size_t)r * cols + b]) b = c;
  best[r] = x[(size_t)r * cols + b] + bias[r];
  at[r] = b;
}
