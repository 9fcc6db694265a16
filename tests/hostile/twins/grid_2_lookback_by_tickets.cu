// cupilot: {"task": ["tests/hostile/tasks/twin_iscan_1d.json"]}
// cupilot: {"plan": {"buffers": [{"name": "state", "bytes": "cdiv(n, 256) * 8", "content": "zeroed"}, {"name": "ticket", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", "state", "ticket", {"i32": "n"}]}]}}
// A scan of one pass: a tile looks back at its predecessors' packed states; tiles are drawn by tickets.
extern "C" __global__ void k(const int* x, int* y, unsigned long long* state, unsigned* ticket, int n) {
  __shared__ int of_warp[8];
  __shared__ int tile, before;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = tile * 256 + t;
  int a = i < n ? x[i] : 0;
  for (int h = 1; h < 32; h <<= 1) {
    const int b = __shfl_up_sync(~0u, a, h);
    if (lane >= h) a += b;
  }
  if (lane == 31) of_warp[warp] = a;
  __syncthreads();
  for (int w = 0; w < warp; ++w) a += of_warp[w];
  if (t == 255) {
    volatile unsigned long long* s = state;
    s[tile] = (1ull << 32) | (unsigned)a;
    int sum = 0;
    for (int p = tile - 1; p >= 0; --p) {
      unsigned long long v;
      do v = s[p]; while (v >> 32 == 0);
      sum += (int)(unsigned)v;
      if (v >> 32 == 2) break;
    }
    s[tile] = (2ull << 32) | (unsigned)(sum + a);
    before = sum;
  }
  __syncthreads();
  if (i < n) y[i] = a + before;
}
