// Group norm: several blocks share a group; each takes a ticket when its part is written, the last one of the group combines and
// releases the others, which wait on a flag.
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "outer * 4 * 8"}, {"name": "moments", "bytes": "outer * 8"}, {"name": "ticket", "bytes": "outer * 4", "content": "zeroed"}, {"name": "ready", "bytes": "outer * 4", "content": "zeroed"}], "launches": [{"entry": "groupnorm", "grid": [4, "outer"], "block": [64], "cooperative": true, "args": ["x", "y", "part", "moments", "ticket", "ready", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 4, "mid": 700}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "normalised"}}
extern "C" __global__ void groupnorm(const float* x, float* y, float2* part, float2* moments, unsigned* ticket, unsigned* ready, int n) {
  __shared__ float2 of_warp[2], all;
  const int g = blockIdx.y;
  const size_t begin = (size_t)g * n;
  float2 s = {};
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) s.x += x[begin + i], s.y += x[begin + i] * x[begin + i];
  for (int d = 16; d > 0; d >>= 1) s.x += __shfl_xor_sync(~0u, s.x, d), s.y += __shfl_xor_sync(~0u, s.y, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    part[g * 4 + blockIdx.x] = {of_warp[0].x + of_warp[1].x, of_warp[0].y + of_warp[1].y};
    __threadfence();
    if (atomicAdd(ticket + g, 1) == 3) {
      __threadfence();
      float2 m = {};
      for (int i = 0; i < 4; ++i) m.x += __ldcg(&part[g * 4 + i].x), m.y += __ldcg(&part[g * 4 + i].y);
      moments[g] = {m.x / n, rsqrtf(m.y / n - m.x / n * (m.x / n) + 1e-5f)};
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready + g) : "memory");
    }
    unsigned is_ready;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is_ready) : "l"(ready + g) : "memory");
    } while (is_ready == 0);
    all = {__ldcg(&moments[g].x), __ldcg(&moments[g].y)};
  }
  __syncthreads();
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 256) y[begin + i] = (x[begin + i] - all.x) * all.y;
}
