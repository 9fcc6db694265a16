// cupilot: {"task": ["examples/profile/transpose.json"]}
// cupilot: {"plan": {"launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The same with a column of padding: `cupilot profile` on both shows what it is worth.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += 8) {
    const int r = blockIdx.y * 32 + i;
    if (r < rows && c < cols) tile[i][threadIdx.x] = x[(long long)r * cols + c];
  }
  __syncthreads();
  const int r = blockIdx.y * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += 8) {
    const int to = blockIdx.x * 32 + i;
    if (r < rows && to < cols) y[(long long)to * rows + r] = tile[threadIdx.x][i];
  }
}
