// Maximum over the middle dimension: slabs meet in atomicMax on integers ordered as the floats are, turned back by a second launch.
// cupilot: {"plan": {"buffers": [{"name": "best", "bytes": "outer * inner * 4", "content": "zeroed"}], "launches": [{"entry": "fold", "grid": ["cdiv(inner, 64)", "cdiv(mid, 16)", "outer"], "block": [64], "args": ["x", "best", {"i32": "mid"}, {"i32": "inner"}]}, {"entry": "turn_back", "grid": ["cdiv(outer * inner, 64)"], "block": [64], "args": ["best", "y", {"i32": "outer * inner"}]}]}}
// corpus: {"sizes": {"outer": 2, "mid": 50, "inner": 70}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["fp32", "outer", "inner"]}, "expect": {"y": "maximum"}, "tolerance": 0}
__device__ unsigned ordered(float v) {
  const unsigned bits = __float_as_uint(v);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void fold(const float* x, unsigned* best, int mid, int inner) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c >= inner) return;
  unsigned most = 0;
  for (int i = blockIdx.y * 16; i < min(mid, (int)blockIdx.y * 16 + 16); ++i) {
    most = max(most, ordered(x[((size_t)blockIdx.z * mid + i) * inner + c]));
  }
  atomicMax(best + blockIdx.z * inner + c, most);
}

extern "C" __global__ void turn_back(const unsigned* best, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = __uint_as_float(best[i] & 0x80000000u ? best[i] & 0x7fffffffu : ~best[i]);
}
