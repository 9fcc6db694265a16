// Matrix times vector: a block a row, vectors of four, the tree over warps.
// cupilot: {"plan": {"launches": [{"entry": "gemv", "grid": ["m"], "block": [128], "args": ["a", "b", "d", {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 5, "k": 1036}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k"]}, "out": {"d": ["fp32", "m"]}, "expect": {"d": "matmul"}}
extern "C" __global__ void gemv(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d, int k) {
  __shared__ float part[4];
  const float4* row = reinterpret_cast<const float4*>(a + (size_t)blockIdx.x * k);
  const float4* vec = reinterpret_cast<const float4*>(b);
  float sum = 0.f;
  for (int i = threadIdx.x; i < k / 4; i += blockDim.x) {
    const float4 u = __ldcs(row + i), v = __ldg(vec + i);
    sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) d[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
