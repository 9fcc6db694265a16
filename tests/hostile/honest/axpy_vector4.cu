// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"require": ["n % 4 == 0"], "launches": [{"entry": "axpy", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "y", "z", "alpha", {"i32": "n / 4"}]}]}}
extern "C" __global__ void axpy(const float4* x, const float4* y, float4* z, float alpha, int quads) {
  const int q = blockIdx.x * 128 + threadIdx.x;
  if (q >= quads) return;
  const float4 a = x[q], b = y[q];
  z[q] = make_float4(fmaf(alpha, a.x, b.x), fmaf(alpha, a.y, b.y), fmaf(alpha, a.z, b.z), fmaf(alpha, a.w, b.w));
}
