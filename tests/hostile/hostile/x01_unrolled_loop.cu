// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A loop of a million steps, all written out.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float a = 0;
#pragma unroll 1000000
  for (int j = 0; j < 1000000; ++j) a = a * x[j & 255] + j;
  if (i < n) y[i] = a;
}
