// Sigmoid of fp16 storage, two elements an operation by cuda_fp16.h.
// cupilot: {"plan": {"launches": [{"entry": "sigmoid", "grid": ["cdiv(n, 512)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 2050}, "in": {"x": ["fp16", "n"]}, "out": {"y": ["fp16", "n"]}, "expect": {"y": "sigmoid"}, "tolerance": 2e-3}
#include <cuda_fp16.h>

extern "C" __global__ void sigmoid(const __half* __restrict__ x, __half* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i >= n) return;
  const __half2 one = __float2half2_rn(1.f);
  const __half2 v = reinterpret_cast<const __half2*>(x)[i];
  reinterpret_cast<__half2*>(y)[i] = h2rcp(__hadd2(one, h2exp(__hneg2(v))));
}
