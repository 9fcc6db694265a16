// Column sums: blocks add their partial rows to the output by cp.reduce.async.bulk in fp32.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": ["inner"], "args": ["y"]}, {"entry": "sums", "grid": [4], "block": [64], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"mid": 40, "inner": 64}, "in": {"x": ["fp32", "mid", "inner"]}, "out": {"y": ["fp32", "inner"]}, "expect": {"y": "sum"}}
extern "C" __global__ void clear(float* y) { y[threadIdx.x] = 0.f; }

extern "C" __global__ void sums(const float* x, float* y, int rows) {
  __shared__ __align__(16) float part[64];
  float sum = 0.f;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) sum += x[r * 64 + threadIdx.x];
  part[threadIdx.x] = sum;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" ::"l"(y),
               "r"((unsigned)__cvta_generic_to_shared(part)) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
