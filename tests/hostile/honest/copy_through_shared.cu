// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "y", {"i64": "n"}]}]}}
// 16-byte asynchronous copies into shared memory, zero-filled past the end, and on from there.
extern "C" __global__ void copy(const float* x, float* y, long long n) {
  __shared__ alignas(16) float tile[512];
  const int t = threadIdx.x;
  const long long i = blockIdx.x * 512ll + t * 4;
  const int valid = (int)(n - i < 0 ? 0 : n - i < 4 ? n - i : 4) * 4;
  const unsigned to = (unsigned)__cvta_generic_to_shared(tile + t * 4);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(valid > 0 ? x + i : x), "r"(valid) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int j = t; j < 512; j += 128) {
    const long long at = blockIdx.x * 512ll + j;
    if (at < n) y[at] = tile[j];
  }
}
