// cupilot: {"task": ["tests/hostile/tasks/gemv.json"]}
// cupilot: {"plan": {"launches": [{"entry": "gemv", "grid": ["cdiv(rows, 64)"], "block": [64], "args": ["a", "x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A thread a row; 64 elements of the vector at a time are shared by the block.
extern "C" __global__ void gemv(const float* a, const float* x, float* y, int rows, int cols) {
  __shared__ float slab[64];
  const int row = blockIdx.x * 64 + threadIdx.x;
  float sum = 0.0f;
  for (int from = 0; from < cols; from += 64) {
    if (from + threadIdx.x < cols) slab[threadIdx.x] = x[from + threadIdx.x];
    __syncthreads();
    const int many = min(64, cols - from);
    if (row < rows) {
      for (int c = 0; c < many; ++c) sum += a[(long long)row * cols + from + c] * slab[c];
    }
    __syncthreads();
  }
  if (row < rows) y[row] = sum;
}
