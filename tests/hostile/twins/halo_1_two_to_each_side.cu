// cupilot: {"task": ["tests/hostile/tasks/twin_smooth.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Tiles with a halo of two on each side, which the first four threads load.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[132];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 2] = i < n ? x[i] : 0.0f;
  if (t < 4) {
    const int j = blockIdx.x * 128 + (t < 2 ? t - 2 : 126 + t);
    s[t < 2 ? t : 128 + t] = j >= 0 && j < n ? x[j] : 0.0f;
  }
  __syncthreads();
  if (i < n) y[i] = 0.25f * (s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4]);
}
