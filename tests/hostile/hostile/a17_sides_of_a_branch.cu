// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// Half of the lanes leave their sums by atomics on one side of a branch, the others fetch them by atomics on the other side;
// nothing orders the two sides, whose order PTX leaves open.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ unsigned s[32];
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 32) a += x[(long long)blockIdx.x * cols + c];
  s[t] = 0;
  __syncwarp();
  float both = 0;
  if (t % 2 == 0) {
    both = a + __uint_as_float(atomicOr(&s[t ^ 1], 0u));
    for (volatile int i = 0; i < 2; ++i);
  } else {
    atomicExch(&s[t], __float_as_uint(a));
    for (volatile int i = 0; i < 1; ++i);
  }
  __syncwarp();
  for (int h = 16; h > 0; h /= 2) both += __shfl_xor_sync(0xffffffffu, both, h);
  if (t == 0) y[blockIdx.x] = both;
}
