// One long cumulative sum in a single pass: blocks draw tickets and look back at the published sums of tiles before them.
// Value and flag travel in one 64-bit word (1: own sum, 2: sum of all up to here).
// cupilot: {"plan": {"buffers": [{"name": "state", "bytes": "cdiv(mid, 256) * 8", "content": "zeroed"}, {"name": "ticket", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "scan", "grid": ["cdiv(mid, 256)"], "block": [256], "args": ["x", "y", "state", "ticket", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"mid": 2900}, "in": {"x": ["fp32", "mid"]}, "out": {"y": ["fp32", "mid"]}, "expect": {"y": "cumsum"}}
using u64 = unsigned long long;

__device__ void publish(u64* slot, float v, unsigned flag) {
  const u64 word = (u64)flag << 32 | __float_as_uint(v);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
}

extern "C" __global__ void scan(const float* x, float* y, u64* state, unsigned* ticket, int n) {
  __shared__ unsigned tile;
  __shared__ float of_warp[8], before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = tile * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = i < n ? x[i] : 0.f;
  for (int d = 1; d < 32; d <<= 1) {
    const float left = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += left;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  float own = 0.f;
  for (int w = 0; w < 8; ++w) {
    if (w == warp) sum += own;
    own += of_warp[w];
  }
  if (threadIdx.x == 0) {
    publish(state + tile, own, tile == 0 ? 2 : 1);
    float all = 0.f;
    for (int t = (int)tile - 1; t >= 0;) {
      u64 word;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(state + t) : "memory");
      if (word >> 32 == 0) continue;
      all += __uint_as_float((unsigned)word);
      if (word >> 32 == 2) break;
      --t;
    }
    if (tile > 0) publish(state + tile, all + own, 2);
    before = all;
  }
  __syncthreads();
  if (i < n) y[i] = sum + before;
}
