// cupilot: {"task": ["tests/hostile/tasks/twin_causal_softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 4)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp a row; columns after the row's own are left out.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  const int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const float* p = x + (size_t)r * cols;
  const float out = __int_as_float(0xff800000);
  float top = out, sum = 0;
  for (int c = lane; c < cols; c += 32) top = fmaxf(top, c <= r ? p[c] : out);
  for (int h = 16; h > 0; h /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, h));
  for (int c = lane; c < cols; c += 32) sum += expf((c <= r ? p[c] : out) - top);
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
  for (int c = lane; c < cols; c += 32) y[(size_t)r * cols + c] = c <= r ? expf(p[c] - top) / sum : 0.0f;
}
