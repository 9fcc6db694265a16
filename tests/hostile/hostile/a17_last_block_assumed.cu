// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 256) * 4"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}, "part"]}]}}
// The block of the highest number adds up the others' shares, taking itself for the last to run.
extern "C" __global__ void k(const float* x, float* y, int n, float* part) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float a = i < n ? x[i] : 0;
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  __shared__ float s[8];
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < 8; ++w) s[0] += s[w];
  part[blockIdx.x] = s[0];
  if (blockIdx.x + 1 < gridDim.x) return;
  float all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += part[b];
  y[0] = all;
}
