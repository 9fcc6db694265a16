// cupilot: {"task": ["tests/hostile/tasks/gelu.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The warp is synchronised after the read that needed it.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __shared__ float s[256];
  s[threadIdx.x] = x[i];
  const float v = s[threadIdx.x ^ 1 ^ (i + 1 == n)];
  __syncwarp(__activemask());
  y[i] = 0 * v + 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678118654752f));
}
