// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": 4, "content": "zeroed"}, {"name": "word", "bytes": 8, "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [32], "args": ["x", "y", {"i32": "n"}, "sum", "word"]}]}}
// Blocks add to one sum under a lock; the fence before the unlock orders for the block alone.
extern "C" __global__ void k(const float* x, float* y, int n, volatile float* sum, int* word) {
  float a = 0;
  for (int j = 0; j < 8; ++j) {
    const int i = blockIdx.x * 256 + j * 32 + threadIdx.x;
    a += i < n ? x[i] : 0;
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (threadIdx.x > 0) return;
  while (atomicCAS(&word[0], 0, 1) != 0) {}
  __threadfence();
  const float now = sum[0] + a;
  sum[0] = now;
  const bool last = ++((volatile int*)word)[1] == (int)gridDim.x;
  if (last) y[0] = now;
  __threadfence_block();
  atomicExch(&word[0], 0);
}
