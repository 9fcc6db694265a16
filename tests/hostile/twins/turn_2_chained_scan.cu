// cupilot: {"task": ["tests/hostile/tasks/twin_chained_scan.json"]}
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": "cdiv(n, 256) * 4"}, {"name": "flag", "bytes": "cdiv(n, 256) * 4", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "sum", "flag", "y", {"i32": "n"}]}]}}
// Each block waits for the sum of all before it, told by a flag.
extern "C" __global__ void k(const int* x, int* sum, int* flag, int* y, int n) {
  __shared__ int s[256];
  __shared__ int before;
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? x[i] : 0;
  for (int h = 1; h < 256; h *= 2) {
    __syncthreads();
    const int a = t >= h ? s[t - h] : 0;
    __syncthreads();
    s[t] += a;
  }
  __syncthreads();
  if (t == 0) {
    int a = 0;
    if (blockIdx.x > 0) {
      while (*(volatile int*)&flag[blockIdx.x - 1] == 0) {}
      __threadfence();
      a = sum[blockIdx.x - 1];
    }
    before = a;
    sum[blockIdx.x] = a + s[255];
    __threadfence();
    *(volatile int*)&flag[blockIdx.x] = 1;
  }
  __syncthreads();
  if (i < n) y[i] = before + s[t];
}
