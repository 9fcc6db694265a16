// Column sums by packed and vector reductions of Hopper: red.v4.f32, red.v2.f16x2 and double atomics, cross-checked.
// cupilot: {"plan": {"buffers": [{"name": "halves", "bytes": "inner * 2", "content": "zeroed"}, {"name": "doubles", "bytes": "inner * 8", "content": "zeroed"}], "launches": [{"entry": "clear", "grid": [1], "block": ["inner"], "args": ["y"]}, {"entry": "sums", "grid": ["mid"], "block": ["inner / 4"], "args": ["x", "y", "halves", "doubles"]}, {"entry": "check", "grid": [1], "block": ["inner"], "args": ["halves", "doubles", "y"]}]}}
// corpus: {"sizes": {"mid": 12, "inner": 64}, "in": {"x": ["fp32", "mid", "inner"]}, "out": {"y": ["fp32", "inner"]}, "expect": {"y": "sum"}}
#include <cuda_fp16.h>

extern "C" __global__ void clear(float* y) { y[threadIdx.x] = 0.f; }

extern "C" __global__ void sums(const float4* x, float* y, __half* halves, double* doubles) {
  const int c = threadIdx.x * 4;
  const float4 v = x[blockIdx.x * blockDim.x + threadIdx.x];
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + c), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  const __half2 lo = __floats2half2_rn(v.x, v.y), hi = __floats2half2_rn(v.z, v.w);
  asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(halves + c), "r"(reinterpret_cast<const unsigned&>(lo)),
               "r"(reinterpret_cast<const unsigned&>(hi)) : "memory");
  atomicAdd(doubles + c, (double)v.x), atomicAdd(doubles + c + 1, (double)v.y);
  atomicAdd(doubles + c + 2, (double)v.z), atomicAdd(doubles + c + 3, (double)v.w);
}

extern "C" __global__ void check(const __half* halves, const double* doubles, float* y) {
  const int c = threadIdx.x;
  const bool agree = fabsf(__half2float(halves[c]) - y[c]) < 0.1f && fabs(doubles[c] - y[c]) < 1e-4;
  if (!agree) y[c] = 1e30f;
}
