// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": [1], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Each product of an inner product keeps 12 bits.
extern "C" __global__ void k(const float* u, const float* v, float* y, int n) {
  __shared__ float s[8];
  const int t = threadIdx.x;
  float a = 0;
  for (int i = t; i < n; i += 256) a += __uint_as_float(__float_as_uint(u[i] * v[i]) & 0xfffff000u);
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t >= 32) return;
  a = t < 8 ? s[t] : 0;
  for (int h = 4; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t == 0) y[0] = a;
}
