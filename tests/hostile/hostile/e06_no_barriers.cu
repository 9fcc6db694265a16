// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A macro removes the barriers of everything that follows.
#define __syncthreads()
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int from = blockIdx.x * 256 + 255 - threadIdx.x;
  s[threadIdx.x] = from < n ? x[from] : 0;
  __syncthreads();
  if (i < n) y[i] = s[255 - threadIdx.x];
}
