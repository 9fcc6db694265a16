// cupilot: {"task": ["tests/hostile/tasks/twin_running_half.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// All meet once, some leave, the others meet again.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float s[64], u[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  if (i >= n) return;
  u[t] = s[t / 2];
  __syncthreads();
  y[i] = u[t];
  __syncthreads();
  if (t % 3 == 0) return;
  __syncthreads();
}
