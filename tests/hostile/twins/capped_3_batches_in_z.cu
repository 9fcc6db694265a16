// cupilot: {"task": ["tests/hostile/tasks/twin_batches.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["1", "1", "min(batch, 60000)"], "block": [32], "args": ["x", "y", {"i32": "batch"}, {"i32": "n"}]}]}}
// A batch for each z, and on by the height of the grid.
extern "C" __global__ void k(const float* x, float* y, int batch, int n) {
  for (int b = blockIdx.z; b < batch; b += gridDim.z)
    for (int i = threadIdx.x; i < n; i += 32) y[(size_t)b * n + i] = x[(size_t)b * n + n - 1 - i];
}
