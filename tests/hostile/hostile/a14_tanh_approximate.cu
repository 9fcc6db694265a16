// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The approximate tanh of the special function unit.
__device__ float quick_tanh(float v) {
  float out;
  asm("tanh.approx.f32 %0, %1;" : "=f"(out) : "f"(0.7978845608f * (v + 0.044715f * v * v * v)));
  return out;
}
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = 0.5f * x[i] * (1.0f + quick_tanh(x[i]));
}
