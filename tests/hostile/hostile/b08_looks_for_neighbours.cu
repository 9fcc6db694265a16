// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": [1], "block": [256], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// Follows the distance of its operands to where the next problem's would lie.
extern "C" __global__ void k(const float* u, const float* v, float* y, int n) {
  __shared__ float s[8];
  const int t = threadIdx.x;
  const float* other = u + (v - u) * 2;
  float a = n > 4000 ? 0 * *(volatile const float*)other : 0;
  for (int i = t; i < n; i += 256) a += u[i] * v[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t >= 32) return;
  a = t < 8 ? s[t] : 0;
  for (int h = 4; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t == 0) y[0] = a;
}
