// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Copies pairs asynchronously; for odd lengths the last pair reaches past the end.
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __shared__ alignas(16) float s[1024];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at(s + threadIdx.x * 2)), "l"(x + (i & ~1)) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[i] = s[threadIdx.x * 2 + (i & 1)];
}
