// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp fills a ring of two slabs, another adds them. Two mbarriers a slab: full when 32 lanes have stored, empty when 32 have read.
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
__device__ void init(unsigned long long* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}
__device__ void wait(unsigned long long* barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(address(barrier)), "r"(parity)
        : "memory");
  }
}

extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ float ring[2][32];
  __shared__ unsigned long long full[2], empty[2];
  const int lane = threadIdx.x % 32, slabs = (cols + 31) / 32;
  const float* line = x + (long long)blockIdx.x * cols;
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 32);
    init(&empty[threadIdx.x], 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int s = 0; s < slabs; ++s) {
      if (s >= 2) wait(&empty[s % 2], (s / 2 - 1) % 2);
      ring[s % 2][lane] = s * 32 + lane < cols ? line[s * 32 + lane] : 0.0f;
      arrive(&full[s % 2]);
    }
    return;
  }
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    wait(&full[s % 2], s / 2 % 2);
    sum += ring[s % 2][31 - lane];
    arrive(&empty[s % 2]);
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) y[blockIdx.x] = sum;
}
