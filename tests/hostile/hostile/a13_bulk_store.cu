// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Copies shared memory over its input by a bulk copy.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __shared__ alignas(16) float s[256];
  s[threadIdx.x] = x[i];
  y[i] = x[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (i % 4 == 0 && i + 4 <= n) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(x + i), "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
