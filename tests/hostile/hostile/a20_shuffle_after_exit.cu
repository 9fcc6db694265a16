// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": [1], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Threads without an element have left before the shuffle that names them, and before the barrier.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[8];
  const int t = threadIdx.x;
  float a = 0;
  if (t >= n) return;
  for (int i = t; i < n; i += 256) a += x[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t >= 32) return;
  a = t < 8 ? s[t] : 0;
  for (int h = 4; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t == 0) y[0] = a;
}
