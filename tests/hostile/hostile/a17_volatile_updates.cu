// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}, "sum"]}]}}
// Blocks add their shares into one place with volatile loads and stores, which lose updates.
extern "C" __global__ void k(const float* x, float* y, int n, volatile float* sum) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float a = i < n ? x[i] : 0;
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  __shared__ float s[8];
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < 8; ++w) s[0] += s[w];
  sum[0] = sum[0] + s[0];
  y[0] = sum[0];
}
