// cupilot: {"task": ["tests/hostile/tasks/twin_transpose16.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(rows, 32) * cdiv(cols, 32), dev.sms)"], "block": [32, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A block walks over tiles of a transpose of bf16, as many blocks as the device has multiprocessors.
extern "C" __global__ void k(const unsigned short* x, unsigned short* y, int rows, int cols) {
  __shared__ unsigned short tile[32][33];
  const int across = (cols + 31) / 32, tiles = across * ((rows + 31) / 32);
  int w = blockIdx.x;
  do {
    const int r0 = w / across * 32, c0 = w % across * 32;
    for (int i = threadIdx.y; i < 32; i += 8)
      if (r0 + i < rows && c0 + threadIdx.x < cols) tile[i][threadIdx.x] = x[(r0 + i) * cols + c0 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
      if (c0 + i < cols && r0 + threadIdx.x < rows) y[(c0 + i) * rows + r0 + threadIdx.x] = tile[threadIdx.x][i];
    __syncthreads();
    w += gridDim.x;
  } while (w < tiles);
}
