// cupilot: {"task": ["tests/hostile/tasks/twin_chained_scan.json"]}
// cupilot: {"plan": {"buffers": [{"name": "word", "bytes": "cdiv(n, 128) * 8", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "word", "y", {"i32": "n"}]}]}}
// Value and flag travel in one word of 64 bits, so that nothing else must be ordered.
extern "C" __global__ void k(const int* x, unsigned long long* word, int* y, int n) {
  __shared__ int of_warp[4];
  __shared__ int before;
  const int t = threadIdx.x, lane = t % 32, i = blockIdx.x * 128 + t;
  int a = i < n ? x[i] : 0;
  for (int h = 1; h < 32; h *= 2) {
    const int o = __shfl_up_sync(~0u, a, h);
    if (lane >= h) a += o;
  }
  if (lane == 31) of_warp[t / 32] = a;
  __syncthreads();
  for (int w = 0; w < t / 32; ++w) a += of_warp[w];
  if (t == 127) {
    unsigned long long got = 1ull << 32;
    if (blockIdx.x > 0)
      do got = *(volatile unsigned long long*)&word[blockIdx.x - 1]; while (got >> 32 == 0);
    before = (int)got;
    atomicExch(&word[blockIdx.x], 1ull << 32 | (unsigned)((int)got + a));
  }
  __syncthreads();
  if (i < n) y[i] = before + a;
}
