// cupilot: {"task": ["tests/hostile/tasks/axpy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", "z", "alpha", {"i32": "n"}]}]}}
// Vectors of four only; up to three elements at the end are not touched.
extern "C" __global__ void k(const float* x, const float* y, float* z, float alpha, int n) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
  if (i + 4 > n) return;
  const float4 u = *(const float4*)(x + i), v = *(const float4*)(y + i);
  *(float4*)(z + i) = make_float4(alpha * u.x + v.x, alpha * u.y + v.y, alpha * u.z + v.z, alpha * u.w + v.w);
}
