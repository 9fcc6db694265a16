// Bags of table rows added up: indices of a bag are read once a warp and handed round.
// cupilot: {"plan": {"launches": [{"entry": "bag", "grid": ["bags"], "block": [32], "args": ["table", "rows_of", "y", {"i32": "depth"}, {"i32": "per_bag"}]}]}}
// corpus: {"sizes": {"bags": 7, "per_bag": 11, "rows": 50, "depth": 40}, "in": {"table": ["fp32", "rows", "depth"], "rows_of": ["i64", "bags", "per_bag", {"kind": "labels", "below": "rows"}]}, "out": {"y": ["fp32", "bags", "depth"]}, "expect": {"y": "embedding_bag"}}
extern "C" __global__ void bag(const float* table, const long long* index, float* y, int depth, int per_bag) {
  const long long mine = threadIdx.x < per_bag ? index[blockIdx.x * per_bag + threadIdx.x] : 0;
  for (int base = 0; base < depth; base += 32) {
    float sum = 0.f;
    for (int i = 0; i < per_bag; ++i) {
      const long long row = __shfl_sync(~0u, mine, i);
      if (base + threadIdx.x < depth) sum += __ldg(table + row * depth + base + threadIdx.x);
    }
    if (base + threadIdx.x < depth) y[blockIdx.x * depth + base + threadIdx.x] = sum;
  }
}
