// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"require": ["cols % 4 == 0"], "launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// One thread starts bulk copies of up to 256 columns into a ring of two; an mbarrier a stage counts their bytes.
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
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
  __shared__ __align__(16) float ring[2][256];
  __shared__ unsigned long long full[2];
  __shared__ float part[2];
  const int t = threadIdx.x, slabs = (cols + 255) / 256;
  const float* line = x + (long long)blockIdx.x * cols;
  const auto start = [&](int s) {
    const unsigned bytes = min(256, cols - s * 256) * 4;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full[s % 2])), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     address(ring[s % 2])),
                 "l"(line + s * 256), "r"(bytes), "r"(address(&full[s % 2]))
                 : "memory");
  };
  if (t == 0) {
    for (int i = 0; i < 2; ++i) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full[i])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  for (int s = 0; s < min(2, slabs); ++s) {
    if (t == 0) start(s);
  }
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    wait(&full[s % 2], s / 2 % 2);
    for (int c = t; c < min(256, cols - s * 256); c += 64) sum += ring[s % 2][c];
    __syncthreads();  // before a third part takes the first's place
    if (t == 0 && s + 2 < slabs) {
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      start(s + 2);
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (t % 32 == 0) part[t / 32] = sum;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = part[0] + part[1];
}
