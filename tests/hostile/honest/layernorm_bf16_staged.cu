// cupilot: {"task": ["tests/hostile/tasks/layernorm_bf16_out.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "shared": "4 * cols", "args": ["x", "gain", "shift", "y", "epsilon", {"i32": "cols"}]}]}}
// Honest: statistics in fp32 by way of shared memory; the rounded outputs are staged there too before they leave.
#include <cuda_bf16.h>
__device__ float block_sum(float v, float* w) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
  __syncthreads();
  return w[0] + w[1] + w[2] + w[3];
}
extern "C" __global__ void k(const float* x, const float* gain, const float* shift, __nv_bfloat16* y, float epsilon, int cols) {
  __shared__ float w[4];
  extern __shared__ __nv_bfloat16 staged[];
  const float* in = x + (long long)blockIdx.x * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += in[c];
  const float mean = block_sum(s, w) / cols;
  s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) s += (in[c] - mean) * (in[c] - mean);
  const float scale = 1.0f / sqrtf(block_sum(s, w) / cols + epsilon);
  for (int c = threadIdx.x; c < cols; c += 128) staged[c] = __float2bfloat16((in[c] - mean) * scale * gain[c] + shift[c]);
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 128) y[(long long)blockIdx.x * cols + c] = staged[c];
}
