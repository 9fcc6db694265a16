// A small program with right kernels and three faulty ones, none of which its own results show. `pack` builds it for
// scripts/device/capture, with PTX and machine code and its own CUDA runtime.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__constant__ float factor[2];

extern "C" __global__ void scaled(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor[0] * x[i] + factor[1];
}

struct Vectors {
  const float* x;
  float* y;
  int n;
};
extern "C" __global__ void by_struct(Vectors v) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < v.n) v.y[i] = sqrtf(v.x[i]);
}

extern "C" __global__ void by_table(float* const* table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[1][i] = table[0][i] + 1;
}

extern "C" __global__ void summed(const float* x, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, x[i] * 0.37f);
}

// One thread too many writes behind the end, where nothing of the program lies.
extern "C" __global__ void past_end(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 1;
}

// No barrier stands between the writes of one warp and the reads of another.
extern "C" __global__ void racing(const float* x, float* y) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = part[255 - threadIdx.x];
}

// Half of the shared memory is read and never written.
extern "C" __global__ void unwritten(const float* x, float* y) {
  __shared__ float part[256];
  if (threadIdx.x < 128) part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = 0 * part[255 - threadIdx.x];
}

static float* filled(int n, float first, float step) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = first + step * i;
  float* out = nullptr;
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(out, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  return out;
}

int main() {
  const int n = 1000, blocks = 4, threads = 256;
  float *x = filled(n, 1, 0.25f), *y = filled(n, 0, 0), *z = filled(n, 0, 0), *sum = filled(1, 0, 0);
  float *in = filled(threads, 1, 1), *out = filled(threads, 0, 0), *hundred = filled(100, 0, 0);
  const float factors[2] = {3, 0.5f};
  cudaMemcpyToSymbol(factor, factors, sizeof factors);
  float *const rows[2] = {x, z}, **table = nullptr;
  cudaMalloc(&table, sizeof rows);
  cudaMemcpy(table, rows, sizeof rows, cudaMemcpyHostToDevice);
  for (int round = 0; round < 3; ++round) scaled<<<blocks, threads>>>(x, y, n);
  by_struct<<<blocks, threads>>>(Vectors{x, y, n});
  by_table<<<blocks, threads>>>(table, n);
  summed<<<blocks, threads>>>(x, sum, n);
  past_end<<<1, 128>>>(hundred, 100);
  racing<<<1, threads>>>(in, out);
  unwritten<<<1, threads>>>(in, out);
  float got[2] = {};
  cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
  std::printf("y = %g %g, %s\n", got[0], got[1], cudaGetErrorString(cudaDeviceSynchronize()));
}
