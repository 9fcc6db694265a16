// Kernels of the guest (tests/inject): right ones, and one for each planted fault. Made of it by nvcc 13.0:
// guest.ptx by `nvcc -ptx -arch=compute_90`, the fat binaries by `nvcc -fatbin` with code=compute_90 and code=sm_90,
// guest-zstd by `--compress-mode size`, guest-lz4 by `--compress-mode speed`, its machine code left out.
extern "C" __global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void past(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 1;
}
extern "C" __global__ void racing(float* x) {
  __shared__ float turned[32];
  turned[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = turned[31 - threadIdx.x];
}
extern "C" __global__ void unwritten(float* x, int n) {
  __shared__ float part[32];
  if (threadIdx.x < 16) part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = part[31 - threadIdx.x];
}
extern "C" __global__ void through(float** table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[1][i] = table[0][i];
}
