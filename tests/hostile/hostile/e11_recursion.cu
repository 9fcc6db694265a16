// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A recursion as deep as the input is long.
__device__ __noinline__ float down(const float* x, int i, int left) { return left == 0 ? x[i] : down(x, i, left - 1) + 0.0f * x[left - 1]; }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = down(x, i, n);
}
