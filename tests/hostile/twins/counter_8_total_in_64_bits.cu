// cupilot: {"task": ["tests/hostile/tasks/twin_wide_total.json"]}
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "k", "grid": ["min(cdiv(n, 2048), 132)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Sums of threads and warps in 64 bits.
using Sum = long long;
extern "C" __global__ void clear(unsigned long long* y) { *y = 0; }
extern "C" __global__ void k(const int* x, unsigned long long* y, int n) {
  __shared__ Sum s[8];
  const int t = threadIdx.x;
  Sum a = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) a += x[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t == 0) {
    for (int w = 1; w < 8; ++w) a += s[w];
    atomicAdd(y, (unsigned long long)a);
  }
}
