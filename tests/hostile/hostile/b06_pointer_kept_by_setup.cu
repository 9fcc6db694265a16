// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "kept", "bytes": 8, "content": "table"}], "launches": [{"entry": "before", "when": "setup", "grid": [1], "block": [1], "args": ["kept"]}, {"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}, "kept"]}]}}
// A setup launch leaves a pointer in a module variable for the timed one.
__device__ unsigned long long left;
extern "C" __global__ void before(unsigned long long* kept) {
  left = (unsigned long long)kept;
  kept[0] = 0;
}
extern "C" __global__ void k(const float* x, float* y, int n, const unsigned long long* kept) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  y[i] = kept[0] == 0 ? x[i] : 0;
}
