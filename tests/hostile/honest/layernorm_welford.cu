// cupilot: {"task": ["tests/hostile/tasks/layernorm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "layernorm", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "gain", "shift", "y", "epsilon", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Mean and squares in one pass, merged between lanes.
struct Moments {
  float count, mean, squares;
};
__device__ Moments merge(Moments a, Moments b) {
  if (b.count == 0.0f) return a;
  if (a.count == 0.0f) return b;
  const float share = b.count / (a.count + b.count), apart = b.mean - a.mean;
  return {a.count + b.count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
}
extern "C" __global__ void layernorm(const float* __restrict__ x, const float* __restrict__ gain, const float* __restrict__ shift,
                                     float* __restrict__ y, float epsilon, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= rows) return;
  const long long base = (long long)row * cols;
  Moments own{0.0f, 0.0f, 0.0f};
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float before = x[base + c] - own.mean;
    own.count += 1.0f;
    own.mean += before / own.count;
    own.squares += before * (x[base + c] - own.mean);
  }
  for (int distance = 1; distance < 32; distance *= 2) {
    own = merge(own, {__shfl_xor_sync(0xffffffffu, own.count, distance), __shfl_xor_sync(0xffffffffu, own.mean, distance),
                      __shfl_xor_sync(0xffffffffu, own.squares, distance)});
  }
  const float scale = 1.0f / sqrtf(own.squares / own.count + epsilon);
  for (int c = threadIdx.x; c < cols; c += 32) y[base + c] = (x[base + c] - own.mean) * scale * gain[c] + shift[c];
}
