// Cumulative sum from the right: each tile by doubling steps in two shared buffers, tiles taken from the end.
// cupilot: {"plan": {"launches": [{"entry": "suffix", "grid": ["outer"], "block": [64], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 230}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "cumsum_reverse"}}
extern "C" __global__ void suffix(const float* x, float* y, int cols) {
  __shared__ float s[2][64];
  const int t = threadIdx.x;
  float carry = 0.f;
  for (int end = cols; end > 0; end -= 64) {
    const int c = end - 1 - t;
    int at = 0;
    s[0][t] = c >= 0 ? x[blockIdx.x * cols + c] : 0.f;
    for (int d = 1; d < 64; d <<= 1, at ^= 1) {
      __syncthreads();
      s[at ^ 1][t] = s[at][t] + (t >= d ? s[at][t - d] : 0.f);
    }
    __syncthreads();
    if (c >= 0) y[blockIdx.x * cols + c] = s[at][t] + carry;
    carry += s[at][63];
    __syncthreads();
  }
}
