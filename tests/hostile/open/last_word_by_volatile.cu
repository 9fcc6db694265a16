// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": "4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["5"], "block": [64], "args": ["a", "b", "y", "sum", {"i32": "n"}]}]}}
// As each block writes what it reads, the last to write need not be the last to add.
extern "C" __global__ void k(const float* a, const float* b, float* y, float* sum, int n) {
  float s = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += a[i] * b[i];
  atomicAdd(sum, s);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *(volatile float*)y = *(volatile float*)sum;
}
