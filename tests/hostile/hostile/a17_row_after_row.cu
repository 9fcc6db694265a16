// cupilot: {"task": ["tests/hostile/tasks/sum_tall.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(rows, 300)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A block walks over rows; the next row's partial sums overwrite those that the last warp still adds up.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float part[4];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    float a = 0;
    for (int c = t; c < cols; c += 128) a += x[(long long)r * cols + c];
    for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
    if (lane == 0) part[warp] = a;
    __syncthreads();
    if (t == 97) y[r] = part[0] + part[1] + part[2] + part[3];
  }
}
