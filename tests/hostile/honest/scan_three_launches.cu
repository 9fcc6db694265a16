// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"let": {"tiles": "cdiv(cols, 128)"}, "buffers": [{"name": "part", "bytes": "rows * tiles * 4"}], "launches": [{"entry": "tile_sums", "grid": ["tiles", "rows"], "block": [128], "args": ["x", "part", {"i32": "cols"}]}, {"entry": "prefixes", "grid": ["cdiv(rows, 32)"], "block": [32], "args": ["part", {"i32": "rows"}, {"i32": "tiles"}]}, {"entry": "scan_tiles", "grid": ["tiles", "rows"], "block": [128], "args": ["x", "part", "y", {"i32": "cols"}]}]}}
// Sums of tiles, prefixes of those, and each tile again from its prefix.
extern "C" __global__ void tile_sums(const float* x, float* part, int cols) {
  __shared__ float of_thread[128];
  const int t = threadIdx.x, c = blockIdx.x * 128 + t;
  of_thread[t] = c < cols ? x[(long long)blockIdx.y * cols + c] : 0.0f;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) of_thread[t] += of_thread[t + half];
    __syncthreads();
  }
  if (t == 0) part[blockIdx.y * gridDim.x + blockIdx.x] = of_thread[0];
}
extern "C" __global__ void prefixes(float* part, int rows, int tiles) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  float before = 0.0f;
  for (int i = 0; i < tiles; ++i) {
    const float sum = part[row * tiles + i];
    part[row * tiles + i] = before;
    before += sum;
  }
}
extern "C" __global__ void scan_tiles(const float* x, const float* part, float* y, int cols) {
  __shared__ float of_warp[4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 128 + threadIdx.x;
  const long long base = (long long)blockIdx.y * cols;
  float sum = c < cols ? x[base + c] : 0.0f;
  for (int distance = 1; distance < 32; distance *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += left;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  float before = part[blockIdx.y * gridDim.x + blockIdx.x];
  for (int w = 0; w < warp; ++w) before += of_warp[w];
  if (c < cols) y[base + c] = before + sum;
}
