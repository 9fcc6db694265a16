// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// One warp loads slabs, another adds them; they meet at one barrier from two places of the code, which PTX allows to whole warps.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float slab[2][32];
  const int lane = threadIdx.x % 32;
  const float* line = x + (long long)blockIdx.x * cols;
  const int slabs = (cols + 31) / 32;
  if (threadIdx.x < 32) {
    for (int s = 0; s < slabs; ++s) {
      slab[s % 2][lane] = s * 32 + lane < cols ? line[s * 32 + lane] : 0.0f;
      asm volatile("bar.sync 1;" ::: "memory");
    }
    return;
  }
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    asm volatile("bar.sync 1;" ::: "memory");
    sum += slab[s % 2][lane];
  }
  for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, h);
  if (lane == 0) y[blockIdx.x] = sum;
}
