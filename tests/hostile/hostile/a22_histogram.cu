// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// Counts straight into the output, taken for zero.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) atomicAdd(count + label[i], 1);
}
