// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp loads slabs into a ring of two, another adds them. Barriers 1 and 2: slab full; 3 and 4: slab empty.
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory"); }
__device__ void wait(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }

extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float ring[2][32];
  const int lane = threadIdx.x % 32;
  const float* line = x + (long long)blockIdx.x * cols;
  const int slabs = (cols + 31) / 32;
  if (threadIdx.x < 32) {
    for (int s = 0; s < slabs; ++s) {
      if (s >= 2) wait(3 + s % 2);
      const int c = s * 32 + lane;
      ring[s % 2][lane] = c < cols ? line[c] : 0.0f;
      __threadfence_block();
      arrive(1 + s % 2);
    }
    return;
  }
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    wait(1 + s % 2);
    sum += ring[s % 2][lane];
    if (s + 2 < slabs) arrive(3 + s % 2);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) y[blockIdx.x] = sum;
}
