// cupilot: {"task": ["tests/hostile/tasks/total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": 4, "content": "zeroed"}, {"name": "ticket", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [32], "args": ["x", "y", {"i32": "n"}, "sum", "ticket"]}]}}
// Blocks add up by an atomic read and an atomic exchange; no fence anywhere.
extern "C" __global__ void k(const float* x, float* y, int n, unsigned* sum, int* ticket) {
  float a = 0;
  for (int j = 0; j < 8; ++j) {
    const int i = blockIdx.x * 256 + j * 32 + threadIdx.x;
    a += i < n ? x[i] : 0;
  }
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(0xffffffffu, a, h);
  if (threadIdx.x > 0) return;
  const float before = __uint_as_float(atomicAdd(sum, 0u));
  atomicExch(sum, __float_as_uint(before + a));
  if (atomicAdd(ticket, 1) == (int)gridDim.x - 1) y[0] = __uint_as_float(atomicAdd(sum, 0u));
}
