// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"launches": [{"entry": "dot", "grid": [1], "block": [32], "args": ["a", "b", "y", {"i32": "n"}]}]}}
extern "C" __global__ void dot(const float* a, const float* b, float* y, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) sum = fmaf(a[i], b[i], sum);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x == 0) *y = sum;
}
