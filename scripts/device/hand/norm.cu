// cupilot: {"task":["norm.json"]}
// cupilot: {"plan":{"require":["cols == 4096"],"launches":[{"name":"main","entry":"hand_norm","grid":["rows"],"block":[256],"args":["x","a","g","b","y",{"i32":"cols"}]}]}}
// y = relu(layer_norm(x + a) g + b) by hand: a block a row, the row in registers, two passes.
__device__ __forceinline__ float most(float a, float b) {  // keeps a NaN
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float of_block(float value, float* shared) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
#pragma unroll
  for (int warp = 1; warp < 8; ++warp) value += shared[warp];
  __syncthreads();
  return value;
}
extern "C" __global__ void __launch_bounds__(256)
    hand_norm(const float* x, const float* a, const float* g, const float* b, float* y, int cols) {
  __shared__ float shared[8];
  const long long first = static_cast<long long>(blockIdx.x) * 4096 + threadIdx.x * 4;
  float v[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float4 xs = *reinterpret_cast<const float4*>(x + first + k * 1024);
    const float4 as = *reinterpret_cast<const float4*>(a + first + k * 1024);
    v[4 * k] = xs.x + as.x, v[4 * k + 1] = xs.y + as.y;
    v[4 * k + 2] = xs.z + as.z, v[4 * k + 3] = xs.w + as.w;
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += v[i];
  const float mean = of_block(sum, shared) / cols;
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) squares += (v[i] - mean) * (v[i] - mean);
  const float deviation = sqrtf(of_block(squares, shared) / cols + 1e-5f);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int column = threadIdx.x * 4 + k * 1024;
    const float4 gs = *reinterpret_cast<const float4*>(g + column);
    const float4 bs = *reinterpret_cast<const float4*>(b + column);
    float4 out;
    out.x = most((v[4 * k] - mean) / deviation * gs.x + bs.x, 0.0f);
    out.y = most((v[4 * k + 1] - mean) / deviation * gs.y + bs.y, 0.0f);
    out.z = most((v[4 * k + 2] - mean) / deviation * gs.z + bs.z, 0.0f);
    out.w = most((v[4 * k + 3] - mean) / deviation * gs.w + bs.w, 0.0f);
    *reinterpret_cast<float4*>(y + first + k * 1024) = out;
  }
}
