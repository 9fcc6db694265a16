// Mean squared error: partial sums, the last block by ticket adds them in order, so that runs agree bit for bit.
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "6 * 4"}, {"name": "ticket", "bytes": 4, "content": "restored"}], "launches": [{"entry": "mse", "grid": [6], "block": [128], "args": ["x", "t", "part", "ticket", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 5000}, "in": {"x": ["fp32", "n"], "t": ["fp32", "n"]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "mse"}}
extern "C" __global__ void mse(const float4* __restrict__ x, const float4* __restrict__ t, float* part, unsigned* ticket, float* y, int n) {
  __shared__ float of_warp[4];
  float sum = 0.f;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n / 4; i += gridDim.x * 128) {
    const float4 a = __ldg(x + i), b = __ldg(t + i);
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, dw = a.w - b.w;
    sum += dx * dx + dy * dy + dz * dz + dw * dw;
  }
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
  __threadfence();
  if (atomicInc(ticket, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence();
  float all = 0.f;
  for (unsigned b = 0; b < gridDim.x; ++b) all += __ldcg(part + b);
  *y = all / n;
}
