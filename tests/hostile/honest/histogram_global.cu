// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [64], "args": ["count"]}, {"entry": "tally", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["label", "count", {"i32": "n"}]}]}}
// Integer atomics to memory.
extern "C" __global__ void clear(int* count) { count[threadIdx.x] = 0; }
extern "C" __global__ void tally(const int* label, int* count, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(&count[label[i]], 1);
}
