// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [256], "args": ["x", "y", {"i32": "cols"}]}]}}
// Eight warps add to one sum by a volatile read and a volatile write, between which another warp's addition is lost.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ volatile float sum;
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 256) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (t == 0) sum = 0;
  __syncthreads();
  if (t % 32 == 0) {
    sum = sum + a;
  }
  __syncthreads();
  if (t == 0) y[blockIdx.x] = sum;
}
