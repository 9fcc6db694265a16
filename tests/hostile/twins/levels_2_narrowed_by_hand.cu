// cupilot: {"task": ["tests/hostile/tasks/twin_cast_bf16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The upper half of a float, rounded to the nearest even by an addition; a NaN keeps a bit.
extern "C" __global__ void k(const unsigned* x, unsigned short* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const unsigned u = x[i];
  y[i] = (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
