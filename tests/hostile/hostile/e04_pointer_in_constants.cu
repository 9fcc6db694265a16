// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Constant memory holds the address, so that code never names the variable.
__device__ unsigned kept;
__constant__ unsigned* way[2] = {&kept, &kept};
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0) *way[n & 1] += 1;
  if (i < n) y[i] = x[i];
}
