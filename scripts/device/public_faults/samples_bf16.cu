// cuda-samples bf16TensorCoreGemm.cu:618 (simple_wmma_bf16gemm) beside its fp16 twin
// (cudaTensorCoreGemm.cu, simple_wmma_gemm).
//   samples_bf16 [SIDE]      against each sample's own matMultiplyOnHost, with its tolerance of 0.1
#define main bf16_main
#include "orig/samples/bf16TensorCoreGemm.cu"
#undef main
#undef M_TILES
#undef N_TILES
#undef K_TILES
#undef SHARED_MEMORY_LIMIT_64K
#undef CHUNK_K
#define shmem shmem_of_twin
#define main fp16_main
#include "orig/samples/cudaTensorCoreGemm.cu"
#undef main
#undef shmem
#include "guard.h"

template <class T, class Kernel>
int one(const char* name, Kernel kernel, int side) {
  std::vector<T> a(size_t(side) * side), b(a);
  std::vector<float> c(a.size()), d(a.size(), 0.f);
  for (auto& x : a) x = T(float(faults::draw() % 3));
  for (auto& x : b) x = T(float(faults::draw() % 3));
  for (auto& x : c) x = float(faults::draw() % 3);
  T* d_a = faults::device(a, "A");
  T* d_b = faults::device(b, "B");
  float* d_c = faults::device(c, "C");
  float* d_d = faults::device(d, "D");
  faults::open_holes();
  const float alpha = 1.1f, beta = 1.2f;
  dim3 gridDim, blockDim;
  blockDim.x = 128;
  blockDim.y = 4;
  gridDim.x = (side + (M * blockDim.x / 32 - 1)) / (M * blockDim.x / 32);
  gridDim.y = (side + N * blockDim.y - 1) / (N * blockDim.y);
  printf("%s, side %d\n", name, side);
  kernel<<<gridDim, blockDim>>>(d_a, d_b, d_c, d_d, side, side, side, alpha, beta);
  const int code = faults::done();
  cudaMemcpy(d.data(), d_d, d.size() * sizeof(float), cudaMemcpyDeviceToHost);
  matMultiplyOnHost(a.data(), b.data(), c.data(), alpha, beta, side, side, side, side, side, side);
  faults::say(name, faults::compare(d, c, 0.1), d.size());
  return code;
}

int main(int argc, char** argv) {
  const int side = argc > 1 ? atoi(argv[1]) : 256;
  const int first = one<__nv_bfloat16>("simple_wmma_bf16gemm", simple_wmma_bf16gemm, side);
  return one<half>("simple_wmma_gemm (the fp16 twin)", simple_wmma_gemm, side) | first;
}
