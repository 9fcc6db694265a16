// cupilot: {"task": ["tests/hostile/tasks/twin_halves.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 1024), dev.sms)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A grid of what is resident; threads walk over groups of four.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* y, int n) {
  const int step = gridDim.x * 1024, rounds = (n + step - 1) / step;
  for (int round = 0; round < rounds; ++round)
    for (int j = 0; j < 4; ++j) {
      const int i = round * step + blockIdx.x * 1024 + j * 256 + threadIdx.x;
      if (i < n) y[i] = __float2half(2 * __half2float(x[i]));
    }
}
