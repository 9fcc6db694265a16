// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 256)"], "block": [64], "args": ["x", "y", {"i64": "n"}]}]}}
// Asynchronous copies by cuda_pipeline.h, four elements a thread.
#include <cuda_pipeline.h>

extern "C" __global__ void copy(const float* x, float* y, long long n) {
  __shared__ float tile[256];
  const long long base = blockIdx.x * 256ll;
  for (int i = threadIdx.x; i < 256; i += 64) {
    if (base + i < n) __pipeline_memcpy_async(tile + i, x + base + i, sizeof(float));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = threadIdx.x ^ 1; i < 256; i += 64) {
    if (base + i < n) y[base + i] = tile[i];
  }
}
