// cupilot: {"task": ["tests/hostile/tasks/twin_triple_in_place.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["y", {"i32": "n"}]}]}}
// A block updates its own stretch in place.
#include <cuda_fp16.h>
extern "C" __global__ void k(__half* y, unsigned n) {
  const unsigned b = blockIdx.x, i = b * 256 + threadIdx.x;
  if (i < n) y[i] = __float2half(3.0f * __half2float(y[i]));
}
