// Instance norm: a cluster of two blocks shares an instance, partial moments go through distributed shared memory by PTX.
// cupilot: {"plan": {"launches": [{"entry": "instancenorm", "grid": ["2 * outer"], "block": [96], "cluster": [2], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 400}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "normalised"}}
__device__ float2 read_peer(const float2* here, unsigned rank) {
  float2 v;
  asm volatile(
      "{\n\t.reg .u32 a;\n\tmapa.shared::cluster.u32 a, %2, %3;\n\tld.shared::cluster.v2.f32 {%0, %1}, [a];\n\t}"
      : "=f"(v.x), "=f"(v.y) : "r"((unsigned)__cvta_generic_to_shared(here)), "r"(rank) : "memory");
  return v;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void instancenorm(const float* x, float* y, int n) {
  __shared__ float2 moments, of_warp[3];
  const unsigned rank = blockIdx.x % 2;
  const size_t begin = (size_t)(blockIdx.x / 2) * n;
  float2 s = {};
  for (int i = rank * 96 + threadIdx.x; i < n; i += 192) s.x += x[begin + i], s.y += x[begin + i] * x[begin + i];
  for (int d = 16; d > 0; d >>= 1) s.x += __shfl_xor_sync(~0u, s.x, d), s.y += __shfl_xor_sync(~0u, s.y, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) moments = {of_warp[0].x + of_warp[1].x + of_warp[2].x, of_warp[0].y + of_warp[1].y + of_warp[2].y};
  cluster_sync();
  const float2 a = read_peer(&moments, 0), b = read_peer(&moments, 1);
  const float mean = (a.x + b.x) / n, scale = rsqrtf((a.y + b.y) / n - mean * mean + 1e-5f);
  for (int i = rank * 96 + threadIdx.x; i < n; i += 192) y[begin + i] = (x[begin + i] - mean) * scale;
  cluster_sync();
}
