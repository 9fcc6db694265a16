// Argmax over the middle dimension into int64, ties to the lower index, a thread a column.
// cupilot: {"plan": {"launches": [{"entry": "argmax", "grid": ["cdiv(inner, 64)", "outer"], "block": [64], "args": ["x", "y", {"i32": "mid"}, {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 60, "inner": 75}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["i64", "outer", "inner"]}, "expect": {"y": "argmax"}, "tolerance": 0}
extern "C" __global__ void argmax(const float* x, long long* y, int mid, int inner) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c >= inner) return;
  const float* from = x + (size_t)blockIdx.y * mid * inner + c;
  float best = from[0];
  int place = 0;
  for (int i = 1; i < mid; ++i) {
    const float v = from[(size_t)i * inner];
    if (v > best) best = v, place = i;
  }
  y[blockIdx.y * inner + c] = place;
}
