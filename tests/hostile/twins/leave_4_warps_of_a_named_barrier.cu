// cupilot: {"task": ["tests/hostile/tasks/twin_pairs_of_warps.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Each pair of warps has a barrier; a pair that has nothing to do leaves.
extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t, pair = t / 64;
  if (blockIdx.x * 128 + pair * 64 >= n) return;
  s[t] = i < n ? x[i] : -1;
  asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
  if (i < n) y[i] = s[t ^ 63];
}
