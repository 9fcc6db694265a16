// The k largest of each row: every lane keeps its own list sorted, the warp draws the largest head k times.
// cupilot: {"plan": {"launches": [{"entry": "top_k<4>", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 5, "mid": 200, "top": 4}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "top"]}, "expect": {"y": "top_k"}, "tolerance": 0}
template <int K>
__global__ void top_k(const float* x, float* y, int cols) {
  float mine[K];
  for (int i = 0; i < K; ++i) mine[i] = -1e30f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    float v = x[blockIdx.x * cols + c];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const float keep = fmaxf(mine[i], v);
      v = fminf(mine[i], v);
      mine[i] = keep;
    }
  }
  for (int i = 0; i < K; ++i) {
    float best = mine[0];
    for (int s = 16; s > 0; s >>= 1) best = fmaxf(best, __shfl_xor_sync(~0u, best, s));
    const int owner = __ffs(__ballot_sync(~0u, mine[0] == best)) - 1;
    if (threadIdx.x == owner) {
      y[blockIdx.x * K + i] = best;
#pragma unroll
      for (int j = 0; j + 1 < K; ++j) mine[j] = mine[j + 1];
      mine[K - 1] = -1e30f;
    }
  }
}
