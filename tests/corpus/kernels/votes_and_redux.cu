// Row sums of integers in which every collective of a warp has its say: redux, votes and shuffles must agree.
// cupilot: {"plan": {"launches": [{"entry": "sums", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 96}, "in": {"x": ["i32", "outer", "mid", {"kind": "integers", "below": 1000}]}, "out": {"y": ["i32", "outer"]}, "expect": {"y": "sum"}, "tolerance": 0}
extern "C" __global__ void sums(const int* x, int* y, int cols) {
  const int lane = threadIdx.x;
  int sum = 0;
  unsigned bits = 0, common = ~0u;
  for (int c = lane; c < cols; c += 32) {
    const int v = x[blockIdx.x * cols + c];
    sum += v, bits |= v, common &= v;
  }
  const int total = __reduce_add_sync(~0u, sum);
  const unsigned any = __reduce_or_sync(~0u, bits), every = __reduce_and_sync(~0u, common), odd = __reduce_xor_sync(~0u, bits);
  int tree = sum;
  for (int s = 1; s < 32; s <<= 1) tree += __shfl_down_sync(~0u, tree, s);
  tree = __shfl_sync(~0u, tree, 0);
  const bool agree = __all_sync(~0u, tree == total) && (any & every) == every && !__any_sync(~0u, (bits & ~any) != 0) && (odd & ~any) == 0 &&
                     __popc(__ballot_sync(~0u, total > 0)) % 32 == 0;
  if (lane == 0) y[blockIdx.x] = agree ? total : -1;
}
