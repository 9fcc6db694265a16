// Division by the L2 norm of a row held in registers, a block a row, __syncthreads and a broadcast.
// cupilot: {"plan": {"launches": [{"entry": "l2norm<4>", "grid": ["outer"], "block": [128], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 451}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "l2norm"}}
template <int ITEMS>
__global__ void __launch_bounds__(128) l2norm(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float part[4];
  float v[ITEMS], sum = 0.f;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int c = i * 128 + threadIdx.x;
    v[i] = c < cols ? x[(size_t)blockIdx.x * cols + c] : 0.f;
    sum = fmaf(v[i], v[i], sum);
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  const float r = rsqrtf(part[0] + part[1] + part[2] + part[3]);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int c = i * 128 + threadIdx.x;
    if (c < cols) y[(size_t)blockIdx.x * cols + c] = v[i] * r;
  }
}
