// cupilot: {"task": ["tests/hostile/tasks/l1norm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// Honest: a row divided by the sum of its magnitudes, by the approximate quotient of two units in the last place.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const float* in = x + (long long)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 32) s += fabsf(in[c]);
  for (int h = 16; h > 0; h /= 2) s += __shfl_xor_sync(0xffffffffu, s, h);
  for (int c = threadIdx.x; c < cols; c += 32) y[(long long)blockIdx.x * cols + c] = __fdividef(in[c], s);
}
