// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "softmax", "grid": ["cdiv(rows, 2)"], "block": [32, 2], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row, largest and sum in one pass: the sum is rescaled whenever the largest rises.
struct Seen {
  float largest, sum;
};
__device__ Seen merge(Seen a, Seen b) {
  const float largest = fmaxf(a.largest, b.largest);
  const float of_a = a.largest == largest ? a.sum : a.sum * expf(a.largest - largest);
  const float of_b = b.largest == largest ? b.sum : b.sum * expf(b.largest - largest);
  return {largest, of_a + of_b};
}
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 2 + threadIdx.y;
  if (row >= rows) return;
  const long long base = (long long)row * cols;
  Seen own{__int_as_float(0xff800000), 0.0f};
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float value = x[base + c];
    const float largest = fmaxf(own.largest, value);
    const float scale = own.largest == largest ? 1.0f : expf(own.largest - largest);
    const float weight = value == __int_as_float(0xff800000) ? 0.0f : expf(value - largest);
    own = {largest, own.sum * scale + weight};
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    own = merge(own, {__shfl_xor_sync(0xffffffffu, own.largest, distance), __shfl_xor_sync(0xffffffffu, own.sum, distance)});
  }
  for (int c = threadIdx.x; c < cols; c += 32) y[base + c] = expf(x[base + c] - own.largest) / own.sum;
}
