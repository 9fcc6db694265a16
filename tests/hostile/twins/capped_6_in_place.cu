// cupilot: {"task": ["tests/hostile/tasks/twin_triple_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), 1000000)"], "block": [256], "args": ["y", {"i32": "n"}]}]}}
// What is updated in place holds numbers everywhere before.
#include <cuda_fp16.h>
extern "C" __global__ void k(__half* y, unsigned n) {
  const unsigned step = gridDim.x * 256;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += step)
    y[i] = __float2half(3.0f * __half2float(y[i]));
}
