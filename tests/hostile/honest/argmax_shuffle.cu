// cupilot: {"task": ["tests/hostile/tasks/argmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "argmax", "grid": ["cdiv(rows, 4)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row: value and place travel together, and of equal values the earlier place wins.
extern "C" __global__ void argmax(const float* x, int* y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float largest = __int_as_float(0xff800000);
  int at = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float value = x[(long long)row * cols + c];
    if (value > largest) {
      largest = value;
      at = c;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const float value = __shfl_xor_sync(0xffffffffu, largest, distance);
    const int place = __shfl_xor_sync(0xffffffffu, at, distance);
    const bool better = value > largest || (value == largest && place < at);
    largest = better ? value : largest;
    at = better ? place : at;
  }
  if (threadIdx.x == 0) y[row] = at;
}
