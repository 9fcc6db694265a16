// cupilot: {"task": ["tests/hostile/tasks/twin_largest_of_all.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": [1], "block": [128], "args": ["x", "y", {"i32": "rows * cols"}]}]}}
// One block seeks the largest of all; fmaxf drops the NaN that it begins with.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float part[4];
  float most = __int_as_float(0x7fffffff);
  for (int i = threadIdx.x; i < n; i += 128) most = fmaxf(most, x[i]);
  for (int h = 16; h > 0; h /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, h));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x == 0) *y = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
}
