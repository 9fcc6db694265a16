// cupilot: {"task": ["tests/hostile/tasks/twin_product_bf16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Products as bf16, rounded by hand; a NaN stays one.
extern "C" __global__ void k(const float* a, const float* b, unsigned short* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float v = a[i] * b[i];
  const unsigned u = __float_as_uint(v);
  y[i] = v != v ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
