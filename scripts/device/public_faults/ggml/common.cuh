// Declares what ssm-conv.cu names of the headers of ggml.
// are any.
#pragma once
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

#define GGML_UNUSED(x) (void)(x)
#define GGML_CUDA_RESTRICT __restrict__
#define GGML_ABORT(...) (printf(__VA_ARGS__), abort())
#define GGML_ASSERT(x) \
  if (!(x)) GGML_ABORT("GGML_ASSERT(%s) failed", #x)

enum ggml_type { GGML_TYPE_F32 = 0 };
struct ggml_tensor {
  ggml_type type;
  int64_t ne[4];
  size_t nb[4];
  ggml_tensor* src[10];
  void* data;
};
inline int64_t ggml_nelements(const ggml_tensor* t) {
  return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}
inline bool ggml_is_contiguous(const ggml_tensor*) { return true; }
struct ggml_backend_cuda_context {
  cudaStream_t stream() { return nullptr; }
};
static __device__ __forceinline__ void ggml_cuda_pdl_sync() {}
static __device__ __forceinline__ void ggml_cuda_pdl_lc() {}
struct ggml_cuda_kernel_launch_params {
  dim3 block_nums, block_dims;
  size_t shmem;
  cudaStream_t stream;
  ggml_cuda_kernel_launch_params(const dim3& b, const dim3& d, const size_t s, const cudaStream_t t)
      : block_nums(b), block_dims(d), shmem(s), stream(t) {}
  ggml_cuda_kernel_launch_params(const dim3& b, const dim3& d, const int s, const cudaStream_t t)
      : block_nums(b), block_dims(d), shmem(s), stream(t) {}
};
template <typename Kernel, typename... Args>
static __inline__ void ggml_cuda_kernel_launch(Kernel kernel,
                                               const ggml_cuda_kernel_launch_params& p,
                                               Args&&... args) {
  kernel<<<p.block_nums, p.block_dims, p.shmem, p.stream>>>(std::forward<Args>(args)...);
}
