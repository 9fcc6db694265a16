// cupilot: {"task": ["tests/hostile/tasks/twin_triple_halves.json"]}
// cupilot: {"plan": {"launches": [{"entry": "fill", "grid": ["min(cdiv(n, 256), 4096)"], "block": [256], "args": ["y", {"i32": "n"}]}, {"entry": "k", "grid": ["min(cdiv(n, 256), 1000000)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A first launch writes every element, a second one again.
#include <cuda_fp16.h>
extern "C" __global__ void fill(__half* y, unsigned n) {
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    y[i] = __float2half(0.0f);
}
extern "C" __global__ void k(const __half* x, __half* y, unsigned n) {
  const unsigned step = gridDim.x * 256;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += step)
    y[i] = __float2half(3.0f * __half2float(x[i]));
}
