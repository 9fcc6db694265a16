// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A counter kept by a bulk reduction.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  __shared__ __align__(16) int s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 1;
  __syncthreads();
  const unsigned from = (unsigned)__cvta_generic_to_shared(s);
  if (threadIdx.x == 0) asm volatile("{.global .align 16 .b8 hidden[16]; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [hidden], [%0], 16;}" ::"r"(from));
  if (i < n) y[i] = x[i];
}
