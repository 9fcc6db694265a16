// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The warp that comes last adds up what the others left: fences and a ticket in shared memory order it, no barrier.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[4];
  __shared__ int tickets;
  const int t = threadIdx.x;
  if (t == 0) tickets = 0;
  __syncthreads();
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);
  if (t % 32 != 0) return;
  s[t / 32] = a;
  __threadfence_block();
  const int ticket = atomicAdd(&tickets, 1);
  __threadfence_block();
  if (ticket == 3) y[blockIdx.x] = s[0] + s[1] + s[2] + s[3];
}
