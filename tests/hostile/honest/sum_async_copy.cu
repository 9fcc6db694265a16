// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// 4-byte asynchronous copies into a ring of three, two groups under way while one is added.
__device__ void copy(float* to, const float* from, bool valid) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = valid ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float ring[3][64];
  __shared__ float part[2];
  const int t = threadIdx.x;
  const float* line = x + (long long)blockIdx.x * cols;
  const int slabs = (cols + 63) / 64;
  for (int s = 0; s < 2; ++s) {
    const int c = s * 64 + t;
    if (s < slabs) copy(&ring[s][t], c < cols ? line + c : line, c < cols);
    commit();
  }
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    const int next = s + 2, c = next * 64 + t;
    if (next < slabs) copy(&ring[next % 3][t], c < cols ? line + c : line, c < cols);
    commit();
    sum += ring[s % 3][t ^ 1];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (t % 32 == 0) part[t / 32] = sum;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
