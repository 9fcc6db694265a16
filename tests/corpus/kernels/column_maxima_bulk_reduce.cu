// Column maxima of integers: cp.reduce.async.bulk with max.s32.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": ["inner"], "args": ["y"]}, {"entry": "maxima", "grid": [4], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"mid": 30, "inner": 32}, "in": {"x": ["i32", "mid", "inner", {"kind": "integers", "below": 100000}]}, "out": {"y": ["i32", "inner"]}, "expect": {"y": "maximum"}, "tolerance": 0}
extern "C" __global__ void clear(int* y) { y[threadIdx.x] = -2147483647; }

extern "C" __global__ void maxima(const int* x, int* y, int rows) {
  __shared__ __align__(16) int part[32];
  int most = -2147483647;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) most = max(most, x[r * 32 + threadIdx.x]);
  part[threadIdx.x] = most;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x != 0) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 128;" ::"l"(y),
               "r"((unsigned)__cvta_generic_to_shared(part)) : "memory");
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}
