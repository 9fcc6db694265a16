// cupilot: {"task": ["tests/hostile/tasks/rmsnorm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "rmsnorm", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["x", "gain", "y", "epsilon", {"i32": "rows"}, {"i32": "cols"}]}]}}
extern "C" __global__ void rmsnorm(const float* x, const float* gain, float* y, float epsilon, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  const long long base = (long long)row * cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[base + c] * x[base + c];
  for (int distance = 16; distance > 0; distance /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, distance);
  const float root = sqrtf(squares / cols + epsilon);
  for (int c = threadIdx.x; c < cols; c += 32) y[base + c] = x[base + c] / root * gain[c];
}
