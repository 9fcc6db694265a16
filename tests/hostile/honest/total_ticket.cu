// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 128) * 4"}, {"name": "ticket", "bytes": 8, "content": "zeroed"}], "launches": [{"entry": "total", "grid": ["min(cdiv(n, 128), 6)"], "block": [128], "args": ["x", "y", "part", "ticket", {"i32": "n"}]}]}}
// Persistent blocks draw tiles by ticket; whoever finishes the last tile adds them in order.
extern "C" __global__ void total(const float* x, float* y, float* part, unsigned* ticket, int n) {
  __shared__ float of_thread[128];
  __shared__ unsigned tile;
  __shared__ bool last;
  const unsigned tiles = (n + 127) / 128;
  const int t = threadIdx.x;
  for (;;) {
    if (t == 0) tile = atomicAdd(&ticket[0], 1u);
    __syncthreads();
    const unsigned mine = tile;
    if (mine >= tiles) return;
    const int i = mine * 128 + t;
    of_thread[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
      if (t < half) of_thread[t] += of_thread[t + half];
      __syncthreads();
    }
    if (t == 0) {
      part[mine] = of_thread[0];
      __threadfence();
      last = atomicAdd(&ticket[1], 1u) == tiles - 1;
    }
    __syncthreads();
    if (!last) continue;
    if (t == 0) {
      __threadfence();
      float sum = 0.0f;
      for (unsigned i = 0; i < tiles; ++i) sum += __ldcg(part + i);
      *y = sum;
    }
    return;
  }
}
