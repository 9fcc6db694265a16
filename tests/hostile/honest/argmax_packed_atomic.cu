// cupilot: {"task": ["tests/hostile/tasks/argmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "argmax", "grid": ["rows"], "block": [96], "args": ["x", "y", {"i32": "cols"}]}]}}
// Value and place in one 64-bit word whose order is theirs: a shared 64-bit maximum finds the row's.
extern "C" __global__ void argmax(const float* x, int* y, int cols) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 96) {
    const float value = x[(long long)blockIdx.x * cols + c] + 0.0f;  // no negative zero, which would stand below zero
    const unsigned bits = __float_as_uint(value);
    const unsigned order = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    if (value > __int_as_float(0xff800000)) atomicMax(&best, ((unsigned long long)order << 32) | (0xffffffffu - c));
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = best == 0 ? 0 : (int)(0xffffffffu - (unsigned)best);
}
