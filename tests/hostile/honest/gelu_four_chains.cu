// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "gelu", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Four elements a thread, a block apart, so that four chains overlap.
extern "C" __global__ void __launch_bounds__(128, 8) gelu(const float* __restrict__ x, float* __restrict__ y, int n) {
  float value[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = blockIdx.x * 512 + i * 128 + threadIdx.x;
    value[i] = at < n ? x[at] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) value[i] *= 0.5f * (1.0f + erff(value[i] * 0.70710678f));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = blockIdx.x * 512 + i * 128 + threadIdx.x;
    if (at < n) y[at] = value[i];
  }
}
