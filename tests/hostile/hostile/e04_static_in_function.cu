// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A variable that is static within a function.
__device__ bool once() { static int calls; return atomicAdd(&calls, 1) > 1 << 20; }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (once()) return;
  if (i < n) y[i] = x[i];
}
