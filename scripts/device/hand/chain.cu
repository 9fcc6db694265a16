// cupilot: {"task":["chain.json"]}
// cupilot: {"plan":{"require":["cols % 4 == 0"],"launches":[{"name":"main","entry":"chain","grid":["cdiv(rows * cols, 1024)"],"block":[256],"args":["x","b","r","y",{"i64":"rows * cols"},{"i32":"cols"}]}]}}
// Pointwise operators by hand, four neighbours a thread:
// y = min(tanh(relu(sigmoid((x + b) / 2) r + 1) - x) |r|, 3).
__device__ __forceinline__ float most(float a, float b) {  // keeps a NaN
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float least(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
__device__ __forceinline__ float one(float x, float b, float r) {
  float v = (x + b) * 0.5f;
  v = 1.0f / (1.0f + expf(-v));
  v = v * r;
  v = most(v + 1.0f, 0.0f);
  v = tanhf(v - x);
  v = v * fabsf(r);
  return least(v, 3.0f);
}
extern "C" __global__ void __launch_bounds__(256)
    chain(const float* x, const float* b, const float* r, float* y, long long count, int cols) {
  const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * 4;
  if (at >= count) return;
  const int column = static_cast<int>(at % cols);
  const float4 xs = *reinterpret_cast<const float4*>(x + at);
  const float4 bs = *reinterpret_cast<const float4*>(b + column);
  const float4 rs = *reinterpret_cast<const float4*>(r + at);
  *reinterpret_cast<float4*>(y + at) = make_float4(one(xs.x, bs.x, rs.x), one(xs.y, bs.y, rs.y),
                                                   one(xs.z, bs.z, rs.z), one(xs.w, bs.w, rs.w));
}
