// Cross entropy of integer classes: a warp a row, online log-sum-exp, row losses into a workspace, their mean by one block.
// cupilot: {"plan": {"buffers": [{"name": "rows", "bytes": "outer * 4"}], "launches": [{"entry": "row_loss", "grid": ["cdiv(outer, 4)"], "block": [32, 4], "args": ["x", "t", "rows", {"i32": "outer"}, {"i32": "mid"}]}, {"entry": "mean", "grid": [1], "block": [32], "args": ["rows", "y", {"i32": "outer"}]}]}}
// corpus: {"sizes": {"outer": 37, "mid": 90}, "in": {"x": ["fp32", "outer", "mid"], "t": ["i64", "outer", {"kind": "labels", "below": "mid"}]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "cross_entropy"}}
extern "C" __global__ void row_loss(const float* x, const long long* t, float* rows, int n, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (row >= n) return;
  x += (size_t)row * cols;
  float most = -1e30f, sum = 0.f;
  for (int c = lane; c < cols; c += 32) {
    const float v = x[c], m = fmaxf(most, v);
    sum = sum * __expf(most - m) + __expf(v - m);
    most = m;
  }
  for (int s = 16; s > 0; s >>= 1) {
    const float other = __shfl_xor_sync(~0u, most, s), m = fmaxf(most, other), add = __shfl_xor_sync(~0u, sum, s);
    sum = sum * __expf(most - m) + add * __expf(other - m);
    most = m;
  }
  if (lane == 0) rows[row] = most + logf(sum) - x[t[row]];
}

extern "C" __global__ void mean(const float* rows, float* y, int n) {
  float sum = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) sum += rows[i];
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
  if (threadIdx.x == 0) *y = sum / n;
}
