// cupilot: {"task": ["tests/hostile/tasks/variance.json"]}
// cupilot: {"plan": {"launches": [{"entry": "variance", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// One pass: mean and squares of what is left of it, updated a value at a time and merged between lanes.
struct Moments {
  float count, mean, squares;
};
__device__ Moments merge(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (b.count == 0.0f) return a;
  if (a.count == 0.0f) return b;
  const float apart = b.mean - a.mean;
  return {count, a.mean + apart * (b.count / count), a.squares + b.squares + apart * apart * (a.count * (b.count / count))};
}
extern "C" __global__ void variance(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= rows) return;
  Moments own{0.0f, 0.0f, 0.0f};
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float value = x[(long long)row * cols + c];
    own.count += 1.0f;
    const float before = value - own.mean;
    own.mean += before / own.count;
    own.squares += before * (value - own.mean);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    own = merge(own, {__shfl_xor_sync(0xffffffffu, own.count, distance), __shfl_xor_sync(0xffffffffu, own.mean, distance),
                      __shfl_xor_sync(0xffffffffu, own.squares, distance)});
  }
  if (threadIdx.x == 0) y[row] = own.squares / own.count;
}
