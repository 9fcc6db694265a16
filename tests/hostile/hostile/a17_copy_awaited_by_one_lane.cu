// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Every thread copies, the first lane of each warp alone waits, as if its wait were the warp's.
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at(s + t)), "l"(i < n ? x + i : x), "r"(i < n ? 4 : 0) : "memory");
  if (t % 32 == 0) asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (i < n) y[i] = s[t];
}
