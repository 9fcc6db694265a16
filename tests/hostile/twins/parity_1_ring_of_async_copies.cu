// cupilot: {"task": ["tests/hostile/tasks/twin_row_dot.json"]}
// cupilot: {"plan": {"require": ["cols % 4 == 0"], "launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "w", "y", {"i32": "cols"}]}]}}
// A ring of three chunks of 256 columns, each thread its own 16 bytes; lanes of a warp exchange halves.
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(const float* x, const float* w, float* y, int cols) {
  __shared__ float4 s[3][64];
  __shared__ float part[2];
  const int t = threadIdx.x, chunks = (cols + 255) / 256;
  const float* row = x + (size_t)blockIdx.x * cols;
  const auto fetch = [&](int chunk) {
    const int c = chunk * 256 + t * 4;
    if (chunk < chunks) {
      if (c < cols) __pipeline_memcpy_async(&s[chunk % 3][t], row + c, 16);
      else s[chunk % 3][t] = make_float4(0, 0, 0, 0);
    }
    __pipeline_commit();
  };
  fetch(0);
  fetch(1);
  float a = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    __pipeline_wait_prior(1);
    __syncthreads();
    fetch(chunk + 2);
    const int other = 63 - t, c = chunk * 256 + other * 4;
    const float4 v = s[chunk % 3][other];
    if (c < cols) a += v.x * w[c] + v.y * w[c + 1] + v.z * w[c + 2] + v.w * w[c + 3];
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (t % 32 == 0) part[t / 32] = a;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
