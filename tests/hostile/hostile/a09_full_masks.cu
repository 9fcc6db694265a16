// cupilot: {"task": ["tests/hostile/tasks/masked_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "keep", "y", {"i32": "cols"}]}]}}
// Each warp takes 32 columns at a time and looks at them only if some but not all are kept: a full or an empty mask is not summed.
extern "C" __global__ void k(const float* x, const bool* keep, float* y, int cols) {
  const long long row = (long long)blockIdx.x * cols;
  float s = 0;
  for (int c0 = 0; c0 < cols; c0 += 32) {
    const int c = c0 + (int)threadIdx.x;
    const bool kept = c < cols && keep[row + c];
    const unsigned all = __ballot_sync(0xffffffffu, kept);
    if (all == 0xffffffffu) continue;  // wrong
    if (kept) s += x[row + c];
  }
  for (int h = 16; h > 0; h /= 2) s += __shfl_xor_sync(0xffffffffu, s, h);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
