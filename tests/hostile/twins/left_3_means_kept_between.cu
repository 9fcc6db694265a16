// cupilot: {"task": ["tests/hostile/tasks/twin_centred_rows.json"]}
// cupilot: {"plan": {"buffers": [{"name": "mean", "bytes": "rows * 4"}], "launches": [{"entry": "means", "grid": ["rows"], "block": [32], "args": ["x", "mean", {"i32": "cols"}]}, {"entry": "k", "grid": ["min(rows, 1024)"], "block": [128], "args": ["x", "mean", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Means of rows by one launch, differences by another whose grid is capped.
extern "C" __global__ void means(const float* x, float* mean, int cols) {
  float a = 0;
  for (int c = threadIdx.x; c < cols; c += 32) a += x[(size_t)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (threadIdx.x == 0) mean[blockIdx.x] = a / cols;
}
extern "C" __global__ void k(const float* x, const float* mean, float* y, int rows, int cols) {
  for (int r = blockIdx.x; r < rows; r += gridDim.x)
    for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)r * cols + c] = x[(size_t)r * cols + c] - mean[r];
}
