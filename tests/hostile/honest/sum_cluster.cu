// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["2 * rows"], "block": [64], "cluster": [2], "args": ["x", "y", {"i32": "cols"}]}]}}
// Two blocks of a cluster take a row: the second leaves its part in its shared memory, the first reads it there.
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float of_warp[2];
  __shared__ float part;
  const int t = threadIdx.x, row = blockIdx.x / 2, rank = blockIdx.x % 2;
  float sum = 0.0f;
  for (int c = rank * 64 + t; c < cols; c += 128) sum += x[(long long)row * cols + c];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (t % 32 == 0) of_warp[t / 32] = sum;
  __syncthreads();
  if (t == 0) part = of_warp[0] + of_warp[1];
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (rank == 0 && t == 0) {
    unsigned there;
    float other;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&part)));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(other) : "r"(there) : "memory");
    y[row] = part + other;
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
