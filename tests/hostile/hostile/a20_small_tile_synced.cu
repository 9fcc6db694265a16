// cupilot: {"task": ["tests/hostile/tasks/integer_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [16], "args": ["x", "y", {"i32": "cols"}]}]}}
// Eights of a warp are synchronised, each by itself, where sixteen lanes exchange.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int part[16];
  const int t = threadIdx.x;
  int sum = 0;
  for (int c = t; c < cols; c += 16) sum += x[(long long)blockIdx.x * cols + c];
  part[t] = sum;
  cg::tiled_partition<8>(cg::this_thread_block()).sync();
  if (t != 0) return;
  for (int i = 1; i < 16; ++i) sum += part[i];
  y[blockIdx.x] = sum;
}
