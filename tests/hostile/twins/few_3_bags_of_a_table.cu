// cupilot: {"task": ["tests/hostile/tasks/twin_few_bags.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bags"], "block": [128], "args": ["table", "id", "y"]}]}}
// Sums of three rows of nine hundred thousand.
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* table, const long long* id, float* y) {
  float s = 0;
  for (int j = 0; j < 3; ++j) s += __bfloat162float(table[id[blockIdx.x * 3 + j] * 128 + threadIdx.x]);
  y[blockIdx.x * 128 + threadIdx.x] = s;
}
