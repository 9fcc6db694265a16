// cupilot: {"task": ["tests/hostile/tasks/twin_long_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 1024) * 4"}], "launches": [{"entry": "parts", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "part", {"i32": "n"}]}, {"entry": "all", "grid": [1], "block": [1024], "args": ["part", "y", {"i32": "cdiv(n, 1024)"}]}]}}
// Parts of 1024 elements, then one block adds up all parts.
extern "C" __global__ void parts(const int* x, int* part, int n) {
  int a = 0;
  for (int j = 0; j < 4; ++j) {
    const int i = blockIdx.x * 1024 + j * 256 + threadIdx.x;
    if (i < n) a += x[i];
  }
  a = __reduce_add_sync(~0u, a);
  __shared__ int s[8];
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) part[blockIdx.x] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
extern "C" __global__ void all(const int* part, int* y, int count) {
  __shared__ int s[32];
  int a = 0;
  for (int i = threadIdx.x; i < count; i += 1024) a += part[i];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(~0u, a, h);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 32; ++w) a += s[w];
    *y = a;
  }
}
