// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "512*rows", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}, "part"]}]}}
// A tree over a block's own stretch of global memory; its last five steps have no barrier, for one warp does them.
extern "C" __global__ void k(const float* x, float* y, int cols, float* part) {
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float* mine = part + blockIdx.x * 128;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  mine[t] = a;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) mine[t] += mine[t + h];
    if (h > 32) __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = mine[0];
}
