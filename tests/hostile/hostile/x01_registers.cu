// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Values by the thousand that are all alive at once.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float v[3000];
#pragma unroll
  for (int j = 0; j < 3000; ++j) v[j] = x[(i * 3001 + j) % n];
  float a = 0;
#pragma unroll
  for (int j = 0; j < 3000; ++j) a = __fmaf_rn(v[j], v[2999 - j], a);
  if (i < n) y[i] = a;
}
