// Causal attention, a warp a query: the query in registers, keys one by one with an online softmax, lanes hold the depth.
// cupilot: {"plan": {"launches": [{"entry": "causal", "grid": ["cdiv(rows, 4)", "heads"], "block": [32, 4], "args": ["q", "k", "v", "y", {"i32": "rows"}]}]}}
// corpus: {"sizes": {"heads": 2, "rows": 22, "keys": 22, "depth": 32, "causal": 1}, "in": {"q": ["fp32", "heads", "rows", "depth"], "k": ["fp32", "heads", "keys", "depth"], "v": ["fp32", "heads", "keys", "depth"]}, "out": {"y": ["fp32", "heads", "rows", "depth"]}, "expect": {"y": "attention"}}
extern "C" __global__ void causal(const float* q, const float* k, const float* v, float* y, int rows) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  const size_t head = (size_t)blockIdx.y * rows * 32 + lane;
  const float mine = q[head + row * 32] * rsqrtf(32.f);
  float most = -1e30f, sum = 0.f, acc = 0.f;
  for (int j = 0; j <= row; ++j) {
    float s = mine * k[head + j * 32];
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    const float m = fmaxf(most, s), fade = __expf(most - m), p = __expf(s - m);
    sum = sum * fade + p, acc = acc * fade + p * v[head + j * 32], most = m;
  }
  y[head + row * 32] = acc / sum;
}
