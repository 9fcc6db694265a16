// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Looks half way between input and output, where a copy of the answer might lie.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float* from = (const float*)((const char*)x + (((const char*)y - (const char*)x) / 2 & ~255ll));
  y[i] = i == 0 ? from[0] * 0 + x[i] : x[i];
}
