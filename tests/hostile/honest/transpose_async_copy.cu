// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 16)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The tile arrives by asynchronous copies; each thread commits one group and all meet at the barrier.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[16][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 16; i += 4) {
    const int r = blockIdx.y * 16 + i;
    if (r >= rows || c >= cols) continue;
    const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[i][threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + (long long)r * cols + c) : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  const int r = blockIdx.y * 16 + threadIdx.x % 16;
  for (int i = threadIdx.y * 2 + threadIdx.x / 16; i < 32; i += 8) {
    const int to = blockIdx.x * 32 + i;
    if (r < rows && to < cols) y[(long long)to * rows + r] = tile[threadIdx.x % 16][i];
  }
}
