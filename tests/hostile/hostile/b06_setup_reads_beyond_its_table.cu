// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "kept", "bytes": 4, "content": "table"}], "launches": [{"entry": "before", "when": "setup", "grid": [1], "block": [1], "args": ["kept"]}, {"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}, "kept"]}]}}
// A setup launch looks around its table for the inputs of the timed one.
extern "C" __global__ void before(float* kept) { kept[0] = ((volatile float*)kept)[-65536] * 0; }
extern "C" __global__ void k(const float* x, float* y, int n, const float* kept) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 0 * kept[0];
}
