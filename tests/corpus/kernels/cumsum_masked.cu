// Cumulative sum where a byte mask says what counts; a warp a row, ballots skip empty groups.
// cupilot: {"plan": {"launches": [{"entry": "masked", "grid": ["outer"], "block": [32], "args": ["x", "mask", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 4, "mid": 173}, "in": {"x": ["fp32", "outer", "mid"], "mask": ["bool", "outer", "mid", {"kind": "boolean"}]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "masked_cumsum"}}
extern "C" __global__ void masked(const float* x, const unsigned char* mask, float* y, int cols) {
  const int lane = threadIdx.x;
  float carry = 0.f;
  for (int base = 0; base < cols; base += 32) {
    const size_t at = (size_t)blockIdx.x * cols + base + lane;
    const bool inside = base + lane < cols, counts = inside && mask[at] != 0;
    if (__ballot_sync(~0u, counts) != 0) {
      float v = counts ? x[at] : 0.f;
      for (int d = 1; d < 32; d <<= 1) {
        const float left = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += left;
      }
      if (inside) y[at] = carry + v;
      carry += __shfl_sync(~0u, v, 31);
    } else if (inside) {
      y[at] = carry;
    }
  }
}
