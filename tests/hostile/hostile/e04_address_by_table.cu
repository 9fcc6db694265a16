// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// The address of a variable read back byte by byte from a table of all bytes.
__device__ unsigned kept;
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  __shared__ unsigned char s[256];
  s[threadIdx.x] = (unsigned char)threadIdx.x;
  __syncthreads();
  const unsigned long long a = (unsigned long long)&kept;
  unsigned long long b = 0;
  for (int j = 0; j < 8; ++j) b |= (unsigned long long)s[(a >> (8 * j)) & 255] << (8 * j);
  if (i == 0) *(unsigned*)b = 1;
  if (i < n) y[i] = x[i];
}
