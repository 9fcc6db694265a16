// cupilot: {"task": ["tests/hostile/tasks/twin_planes_turned.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["planes * 4"], "block": [32, 8], "args": ["x", "y"]}]}}
// Four tiles a plane, each turned in shared memory.
extern "C" __global__ void k(const unsigned char* x, unsigned char* y) {
  __shared__ unsigned char tile[32][33];
  const int tiles = blockIdx.x & 3, row = tiles / 2 * 32, column = tiles % 2 * 32;
  const size_t plane = (size_t)(blockIdx.x >> 2) * 4096;
  for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = x[plane + (row + i) * 64 + column + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8) y[plane + (column + i) * 64 + row + threadIdx.x] = tile[threadIdx.x][i];
}
