// cupilot: {"task": ["tests/hostile/tasks/row_max.json"]}
// cupilot: {"plan": {"launches": [{"entry": "row_max", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Floats mapped to integers of the same order meet in a shared integer maximum. A NaN maps below everything.
__device__ unsigned ordered(float value) {
  const unsigned bits = __float_as_uint(value);
  if (value != value) return 0;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ float number(unsigned word) {
  if (word == 0) return __int_as_float(0x7fc00000);
  return __uint_as_float((word & 0x80000000u) != 0 ? word & 0x7fffffffu : ~word);
}
extern "C" __global__ void row_max(const float* x, float* y, int cols) {
  __shared__ unsigned largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  unsigned own = 0;
  for (int c = threadIdx.x; c < cols; c += 64) own = max(own, ordered(x[(long long)blockIdx.x * cols + c]));
  atomicMax(&largest, own);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = number(largest);
}
