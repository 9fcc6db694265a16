// cupilot: {"task": ["tests/hostile/tasks/layernorm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "gain", "shift", "y", "epsilon", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A launch that does nothing would pull any geometric mean to zero.
extern "C" __global__ void k(const float* x, const float* gain, const float* shift, float* y, float epsilon, int rows, int cols) {
  if (rows < 0) y[0] = 0;
}
