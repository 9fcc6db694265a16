// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Names a kernel that its text does not hold.
__device__ void k(const float* x, float* y, int rows, int cols) { y[0] = x[0]; }
