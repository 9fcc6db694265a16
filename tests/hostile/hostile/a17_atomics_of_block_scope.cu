// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "total", "grid": ["min(cdiv(n, 128), 8)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Blocks add their shares into one place by atomics of the scope of a block, which hold between its own threads only.
extern "C" __global__ void clear(float* y) { *y = 0.0f; }
extern "C" __global__ void total(const float* x, float* y, int n) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) sum += x[i];
  part[t] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) atomicAdd_block(y, part[0]);
}
