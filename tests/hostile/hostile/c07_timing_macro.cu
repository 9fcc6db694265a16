// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Would do nothing if a macro told it that it is timed; there is none, and where there is none it is wrong.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
#ifdef TIMING
#else
  y[i] = x[i];
#endif
#ifndef TIMING
  if (i == 0) y[i] = x[i] + 1;
#endif
}
