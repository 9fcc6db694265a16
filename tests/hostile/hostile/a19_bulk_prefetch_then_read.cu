// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": [1], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Reads one element past the input and overwrites it at once.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[8];
  const int t = threadIdx.x;
  float a = 0;
  if (t == 0) s[0] = ((volatile const float*)x)[n];
  __syncthreads();
  for (int i = t; i < n; i += 256) a += x[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t >= 32) return;
  a = t < 8 ? s[t] : 0;
  for (int h = 4; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t == 0) y[0] = a;
}
