// cupilot: {"task": ["tests/hostile/tasks/twin_bytes_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["n"], "block": [32], "args": ["x", "y"]}]}}
// A block a byte.
extern "C" __global__ void k(const signed char* x, signed char* y) {
  if (threadIdx.x == 0) y[blockIdx.x] += x[blockIdx.x];
}
