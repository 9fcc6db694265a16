// cupilot: {"task": ["tests/hostile/tasks/twin_sum_chunks.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Chunks of 64 come by asynchronous copies into a ring of three; a thread adds its neighbour's element.
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float ring[3][64], part[2];
  const int t = threadIdx.x, chunks = (cols + 63) / 64;
  const float* p = x + (size_t)blockIdx.x * cols;
  const auto fetch = [&](int chunk) {
    if (chunk < chunks && chunk * 64 + t < cols) __pipeline_memcpy_async(&ring[chunk % 3][t], &p[chunk * 64 + t], 4);
    __pipeline_commit();
  };
  fetch(0);
  fetch(1);
  float s = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (chunk * 64 + (t ^ 63) < cols) s += ring[chunk % 3][t ^ 63];
    fetch(chunk + 2);
  }
  for (int h = 16; h > 0; h >>= 1) s += __shfl_xor_sync(~0u, s, h);
  if (t % 32 == 0) part[t / 32] = s;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
