// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 32)"], "block": [32], "args": ["x", "y", {"i32": "n"}]}]}}
// Takes the ticket that a lane draws from an atomic for its lane number.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ int ticket;
  if (threadIdx.x == 0) ticket = 0;
  __syncwarp();
  const int drawn = atomicAdd(&ticket, (int)(threadIdx.x & 1) + 1), lane = (drawn * 2 + 1) / 3;
  const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.x * 32 + lane;
  if (i < n && j < n) y[j] = x[i];
}
