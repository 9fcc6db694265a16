// cupilot: {"task": ["tests/hostile/tasks/twin_dsum24.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [24], "args": ["x", "y"]}]}}
// Twenty-four lanes sum doubles by eights.
extern "C" __global__ void k(const double* x, double* y) {
  double a = x[blockIdx.x * 24 + threadIdx.x];
  a += __shfl_xor_sync(0xffffffu, a, 4);
  a += __shfl_xor_sync(0xffffffu, a, 2);
  a += __shfl_xor_sync(0xffffffu, a, 1);
  const double b = __shfl_sync(0xffffffu, a, 8), c = __shfl_sync(0xffffffu, a, 16);
  if (threadIdx.x == 0) y[blockIdx.x] = a + b + c;
}
