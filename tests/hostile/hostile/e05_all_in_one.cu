// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Takes all arguments as one structure.
struct arguments { const float* x; float* y; int n; };
extern "C" __global__ void k(arguments a) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < a.n) a.y[i] = a.x[i];
}
