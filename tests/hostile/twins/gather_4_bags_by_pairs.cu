// cupilot: {"task": ["tests/hostile/tasks/twin_bags.json"]}
// cupilot: {"plan": {"require": ["width % 2 == 0"], "launches": [{"entry": "k", "grid": ["bags", "cdiv(width, 512)"], "block": [256], "args": ["table", "id", "y", {"i32": "width"}]}]}}
// Sums of four rows, two columns a thread.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half2* table, const long long* id, float2* y, int width) {
  const int c = blockIdx.y * 256 + threadIdx.x, pairs = width / 2;
  if (c >= pairs) return;
  float2 s = {0, 0};
  for (int j = 0; j < 4; ++j) {
    const float2 v = __half22float2(table[id[blockIdx.x * 4 + j] * pairs + c]);
    s.x += v.x, s.y += v.y;
  }
  y[(size_t)blockIdx.x * pairs + c] = s;
}
