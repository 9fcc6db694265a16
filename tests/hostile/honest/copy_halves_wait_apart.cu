// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// The lower half of each warp fetches in two groups and waits for the older first; the upper half only ever waits, for groups that
// it does not have.
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void fetch(float* to, const float* x, int i, int n) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at(to)), "l"(i < n ? x + i : x), "r"(i < n ? 4 : 0) : "memory");
}
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[2][64];
  const int t = threadIdx.x, first = blockIdx.x * 128;
  if (t % 32 < 16) {
    for (int half = 0; half < 2; ++half) {
      for (int j = t / 32 * 16 + t % 16; j < 64; j += 32) fetch(&s[half][j], x, first + half * 64 + j, n);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
  }
  for (int half = 0; half < 2; ++half) {
    if (half == 0) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const int i = first + half * 64 + t;
    if (i < n) y[i] = s[half][t];
  }
}
