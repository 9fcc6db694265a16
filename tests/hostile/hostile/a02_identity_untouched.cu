// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The task is the identity; an output that began as a copy of the input would already be right.
extern "C" __global__ void k(const float* x, float* y, int n) {}
