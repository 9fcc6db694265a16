// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "4 * cdiv(n, 256)"}, {"name": "ticket", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [32], "args": ["x", "y", {"i32": "n"}, "part", "ticket"]}]}}
// The last block adds up what all left; each draws its ticket before it leaves its part, so that the last may come too early.
extern "C" __global__ void k(const float* x, float* y, int n, float* part, int* ticket) {
  float a = 0;
  for (int j = 0; j < 8; ++j) {
    const int i = blockIdx.x * 256 + j * 32 + threadIdx.x;
    a += i < n ? x[i] : 0;
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (threadIdx.x > 0) return;
  const bool last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
  part[blockIdx.x] = a;
  __threadfence();
  if (!last) return;
  float all = 0;
  for (int i = 0; i < (int)gridDim.x; ++i) all += ((volatile float*)part)[i];
  y[0] = all;
}
