// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Returns at once: what stands in the output from the last kernel is the answer.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {}
