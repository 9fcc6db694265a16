// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// The upper half of each warp closes a group more than the lower, and all leave one group open: of the upper half an empty one,
// of the lower half its copies.
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at(s + t)), "l"(i < n ? x + i : x), "r"(i < n ? 4 : 0) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  if (t % 32 >= 16) asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  if (i < n) y[i] = s[t];
}
