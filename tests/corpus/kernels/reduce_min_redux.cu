// Minimum over the middle dimension, a warp a column group: redux.sync on ordered integers.
// cupilot: {"plan": {"launches": [{"entry": "min_middle", "grid": ["inner", "outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}, {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 77, "inner": 9}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["fp32", "outer", "inner"]}, "expect": {"y": "minimum"}, "tolerance": 0}
extern "C" __global__ void min_middle(const float* x, float* y, int mid, int inner) {
  int least = 0x7fffffff;
  for (int i = threadIdx.x; i < mid; i += 32) {
    const int bits = __float_as_int(x[((size_t)blockIdx.y * mid + i) * inner + blockIdx.x]);
    least = min(least, bits ^ ((bits >> 31) & 0x7fffffff));
  }
  least = __reduce_min_sync(0xffffffffu, least);
  if (threadIdx.x == 0) y[blockIdx.y * inner + blockIdx.x] = __int_as_float(least ^ ((least >> 31) & 0x7fffffff));
}
