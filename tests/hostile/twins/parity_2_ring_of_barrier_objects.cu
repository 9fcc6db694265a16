// cupilot: {"task": ["tests/hostile/tasks/twin_isum_long.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "cols"}]}]}}
// A producer warp fills a ring of two by copies, three consumer warps add; parities turn at each wrap.
__device__ void init(unsigned long long* b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(b)), "r"(n) : "memory");
}
__device__ void arrive(unsigned long long* b) {
  asm volatile("{\n.reg .b64 s;\nmbarrier.arrive.shared.b64 s, [%0];\n}" ::"r"((unsigned)__cvta_generic_to_shared(b)) : "memory");
}
__device__ void wait(unsigned long long* b, int parity) {
  int done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(b)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int s[2][96];
  __shared__ unsigned long long full[2], empty[2];
  __shared__ int sum;
  const int t = threadIdx.x, chunks = (cols + 95) / 96;
  const int* row = x + (size_t)blockIdx.x * cols;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) init(full + i, 32), init(empty + i, 96);
    sum = 0;
  }
  __syncthreads();
  if (t < 32) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int slot = chunk % 2, turn = chunk / 2;
      if (turn > 0) wait(empty + slot, (turn - 1) & 1);
      for (int j = t; j < 96; j += 32) s[slot][j] = chunk * 96 + j < cols ? row[chunk * 96 + j] : 0;
      arrive(full + slot);
    }
  } else {
    int a = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int slot = chunk % 2, turn = chunk / 2;
      wait(full + slot, turn & 1);
      a += s[slot][(t * 7) % 96];
      arrive(empty + slot);
    }
    atomicAdd(&sum, a);
  }
  __syncthreads();
  if (t == 0) y[blockIdx.x] = sum;
}
