// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row: a lane takes four of its elements at a time, then up to three that are left.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  const float* from = x + (long long)row * cols;
  float* to = y + (long long)row * cols;
  float largest = from[0];
  int c = lane;
  for (; c + 96 < cols; c += 128)
    largest = fmaxf(largest, fmaxf(fmaxf(from[c], from[c + 32]), fmaxf(from[c + 64], from[c + 96])));
  const int left = c < cols ? (cols - c + 31) / 32 : 0;
  if (left > 0) largest = fmaxf(largest, from[c]);
  if (left > 1) largest = fmaxf(largest, from[c + 32]);
  if (left > 2) largest = fmaxf(largest, from[c + 64]);
  for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
  float sum = 0;
  for (int i = lane; i < cols; i += 32) sum += expf(from[i] - largest);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = lane; i < cols; i += 32) to[i] = expf(from[i] - largest) / sum;
}
