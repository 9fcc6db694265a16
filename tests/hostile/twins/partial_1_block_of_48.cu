// cupilot: {"task": ["tests/hostile/tasks/twin_isum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [48], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp and a half: the half names its own lanes.
extern "C" __global__ void k(const int* x, int* y, int cols) {
  __shared__ int s[2];
  const int t = threadIdx.x;
  const unsigned lanes = t < 32 ? ~0u : 0xffffu;
  int a = 0;
  for (int c = t; c < cols; c += 48) a += x[(size_t)blockIdx.x * cols + c];
  for (int h = t < 32 ? 16 : 8; h > 0; h /= 2) a += __shfl_xor_sync(lanes, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = s[0] + s[1];
}
