// Division by the mean magnitude of a row that waits in dynamic shared memory between the two sweeps.
// cupilot: {"plan": {"launches": [{"entry": "l1norm", "grid": ["outer"], "block": [128], "shared": "mid * 4", "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 4, "mid": 333}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "l1norm"}}
extern "C" __global__ void l1norm(const float* x, float* y, int cols) {
  extern __shared__ float row[];
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.f;
  __syncthreads();
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += fabsf(row[c] = x[(size_t)blockIdx.x * cols + c]);
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) atomicAdd(&total, sum);
  __syncthreads();
  const float scale = cols / total;
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = row[c] * scale;
}
