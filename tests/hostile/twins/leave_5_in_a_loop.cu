// cupilot: {"task": ["tests/hostile/tasks/twin_rounds_by_block.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// Threads leave a loop of barriers one after another.
extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0;
  int a = 0;
  for (int j = 0; j < 64; ++j) {
    __syncthreads();
    if (j > t) break;
    a += s[j];
    if (j == t) {
      if (i < n) y[i] = a;
      return;
    }
  }
}
