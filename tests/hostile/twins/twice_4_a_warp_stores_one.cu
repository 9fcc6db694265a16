// cupilot: {"task": ["tests/hostile/tasks/twin_row_sums_all.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y"]}]}}
// All lanes have the sum and all store it.
extern "C" __global__ void k(const int* x, int* y) {
  y[blockIdx.x] = __reduce_add_sync(~0u, x[blockIdx.x * 32 + threadIdx.x]);
}
