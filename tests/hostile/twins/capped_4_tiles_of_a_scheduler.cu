// cupilot: {"task": ["tests/hostile/tasks/twin_negate_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(rows * cols, 512), 100)"], "block": [128], "args": ["x", "y", {"i64": "rows * cols"}]}]}}
// Tiles of 512 bytes are dealt out to at most 100 blocks in runs of neighbours.
extern "C" __global__ void k(const signed char* x, signed char* y, long long n) {
  const int tiles = (int)((n + 511) / 512), each = (tiles + gridDim.x - 1) / gridDim.x;
  for (int tile = blockIdx.x * each; tile < min(tiles, (int)(blockIdx.x + 1) * each); ++tile)
    for (int j = 0; j < 4; ++j) {
      const long long i = tile * 512ll + j * 128 + threadIdx.x;
      if (i < n) y[i] = 7 - x[i];
    }
}
