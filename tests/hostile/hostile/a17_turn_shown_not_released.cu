// cupilot: {"task": ["tests/hostile/tasks/dot.json"]}
// cupilot: {"plan": {"buffers": [{"name": "turn", "bytes": "4", "content": "restored"}], "launches": [{"entry": "k", "grid": ["11"], "block": [64], "args": ["a", "b", "y", "turn", {"i32": "n"}]}]}}
// The turn is handed on by a relaxed store: the sum before it need not be there.
extern "C" __global__ void k(const float* a, const float* b, float* y, int* turn, int n) {
  float s = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) s += a[i] * b[i];
  for (int h = 16; h > 0; h /= 2) s += __shfl_xor_sync(~0u, s, h);
  __shared__ float other;
  if (threadIdx.x == 32) other = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  int now;
  do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(now) : "l"(turn) : "memory"); while (now != blockIdx.x);
  *y = blockIdx.x == 0 ? s + other : *y + s + other;
  const int next = (blockIdx.x + 1) % gridDim.x;
  asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(turn), "r"(next) : "memory");
}
