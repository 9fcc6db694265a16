// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp hands its sum to another by a flag; the fence stands behind the flag, where it orders nothing.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float s;
  __shared__ volatile int flag;
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 64) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (t == 0) flag = 0;
  __syncthreads();
  if (t == 32) {
    s = a;
    flag = 1;
    __threadfence_block();
    flag = 1;
  }
  if (t == 0) {
    while (flag == 0);
    __threadfence_block();
    y[blockIdx.x] = a + s;
  }
}
