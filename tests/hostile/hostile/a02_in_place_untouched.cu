// cupilot: {"task": ["tests/hostile/tasks/axpy_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "alpha", {"i32": "n"}]}]}}
// The in-place operand is left as it came.
extern "C" __global__ void k(const float* x, float* y, float alpha, int n) {}
