// cupilot: {"task": ["tests/hostile/tasks/twin_transpose_large.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Elements are less than 2^31, their bytes more.
extern "C" __global__ void k(const short* x, short* y, int rows, int cols) {
  __shared__ short tile[32][33];
  const int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (r0 + j < rows && c0 + threadIdx.x < cols) tile[j][threadIdx.x] = x[(r0 + j) * cols + c0 + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8)
    if (c0 + j < cols && r0 + threadIdx.x < rows) y[(c0 + j) * rows + r0 + threadIdx.x] = tile[threadIdx.x][j];
}
