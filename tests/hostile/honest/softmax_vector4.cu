// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"require": ["cols % 4 == 0"], "launches": [{"entry": "softmax", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols / 4"}]}]}}
// A block a row of float4, for rows that are whole ones.
__device__ float both(float value, float* of_warp, bool sum) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, distance);
    value = sum ? value + other : fmaxf(value, other);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  return sum ? of_warp[0] + of_warp[1] : fmaxf(of_warp[0], of_warp[1]);
}
extern "C" __global__ void softmax(const float4* x, float4* y, int quads) {
  __shared__ float of_warp[2];
  const long long base = (long long)blockIdx.x * quads;
  float largest = __int_as_float(0xff800000);
  for (int q = threadIdx.x; q < quads; q += 64) {
    const float4 v = x[base + q];
    largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  largest = both(largest, of_warp, false);
  float sum = 0.0f;
  for (int q = threadIdx.x; q < quads; q += 64) {
    const float4 v = x[base + q];
    sum += (expf(v.x - largest) + expf(v.y - largest)) + (expf(v.z - largest) + expf(v.w - largest));
  }
  sum = both(sum, of_warp, true);
  for (int q = threadIdx.x; q < quads; q += 64) {
    const float4 v = x[base + q];
    y[base + q] = make_float4(expf(v.x - largest) / sum, expf(v.y - largest) / sum, expf(v.z - largest) / sum,
                              expf(v.w - largest) / sum);
  }
}
