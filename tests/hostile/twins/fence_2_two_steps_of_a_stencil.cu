// cupilot: {"task": ["tests/hostile/tasks/twin_smoothed_twice.json"]}
// cupilot: {"plan": {"buffers": [{"name": "mid", "bytes": "4 * n"}], "launches": [{"entry": "step", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "mid", {"i32": "n"}], "name": "first"}, {"entry": "step", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["mid", "y", {"i32": "n"}]}]}}
// Two steps are two launches.
extern "C" __global__ void step(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = (i > 0 ? x[i - 1] : 0) + x[i] + (i + 1 < n ? x[i + 1] : 0);
}
