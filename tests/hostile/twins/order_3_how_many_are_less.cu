// cupilot: {"task": ["tests/hostile/tasks/twin_less_in_table.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "b", "y", {"i32": "n"}, {"i32": "m"}]}]}}
// How many of a table are less, by tiles of it in shared memory.
extern "C" __global__ void k(const int* x, const int* b, int* y, int n, int m) {
  __shared__ int s[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  const int v = i < n ? x[i] : 0;
  int a = 0;
  for (int c0 = 0; c0 < m; c0 += 128) {
    s[t] = c0 + t < m ? b[c0 + t] : 0x7fffffff;
    __syncthreads();
    for (int j = 0; j < 128; ++j) a += s[j] < v;
    __syncthreads();
  }
  if (i < n) y[i] = a;
}
