// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The last vector of four reaches past the end.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
  if (i >= n) return;
  *(float4*)(y + i) = *(const float4*)(x + i);
}
