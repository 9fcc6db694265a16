// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "kept", "bytes": 16, "content": "table"}], "launches": [{"entry": "before", "when": "setup", "grid": [1], "block": [1], "args": ["kept"]}, {"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}, "kept"]}]}}
// The setup launch leaves part of its table unwritten; a former run's may still stand there.
extern "C" __global__ void before(float* kept) { kept[0] = 0; }
extern "C" __global__ void k(const float* x, float* y, int n, const float* kept) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 0 * kept[i & 3];
}
