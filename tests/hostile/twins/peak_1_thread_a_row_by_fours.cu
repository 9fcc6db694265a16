// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row: the largest by fours, then up to three elements that are left.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  const float* from = x + (long long)row * cols;
  float* to = y + (long long)row * cols;
  float largest = from[0];
  int c = 0;
  for (; c + 3 < cols; c += 4)
    largest = fmaxf(largest, fmaxf(fmaxf(from[c], from[c + 1]), fmaxf(from[c + 2], from[c + 3])));
  if (c < cols) largest = fmaxf(largest, from[c]);
  if (c + 1 < cols) largest = fmaxf(largest, from[c + 1]);
  if (c + 2 < cols) largest = fmaxf(largest, from[c + 2]);
  float sum = 0;
  for (int i = 0; i < cols; ++i) sum += expf(from[i] - largest);
  for (int i = 0; i < cols; ++i) to[i] = expf(from[i] - largest) / sum;
}
