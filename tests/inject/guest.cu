// Kernels of the guest: right ones, and one for each planted fault. guest.ptx is made of it:
// nvcc -ptx -arch=compute_90 guest.cu
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
