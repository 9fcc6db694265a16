// Stands in for libcudnn.so.9: writes down the calls that describe and run a convolution.
#include <string>

#include "backend/worker/cudnn_calls.hpp"

namespace {

std::string said;

template <class... Values>
void say(const char* call, Values... values) {
  said += call;
  ((said += " " + std::to_string(values)), ...);
  said += "\n";
}
void say_all(const char* call, int count, const int* values, const int* more = nullptr) {
  said += call;
  for (int i = 0; i < count; ++i) said += " " + std::to_string(values[i]);
  for (int i = 0; more != nullptr && i < count; ++i)
    said += (i == 0 ? " / " : " ") + std::to_string(more[i]);
  said += "\n";
}
int alive = 0;
template <class Descriptor>
cudnnStatus_t make(Descriptor* made) {
  ++alive;
  *made = reinterpret_cast<Descriptor>(&alive);
  return CUDNN_STATUS_SUCCESS;
}
constexpr cudnnStatus_t refused = static_cast<cudnnStatus_t>(3000);

}  // namespace

extern "C" {

// What was said since the last question; the number of descriptors that live.
const char* fake_cudnn_said() {
  static std::string told;
  told = said;
  said.clear();
  return told.c_str();
}
int fake_cudnn_alive() { return alive; }

const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_FAKE"; }
cudnnStatus_t cudnnCreate(cudnnHandle_t*) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudnnStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return make(made);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t) {
  return --alive, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t) {
  return --alive, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t) {
  return --alive, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t, cudnnDataType_t type, int rank,
                                         const int* extents, const int* strides) {
  // The library takes no fewer than four dimensions.
  if (rank < 4) return refused;
  say("tensor", static_cast<int>(type));
  say_all(" of", rank, extents, strides);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int rank, const int* extents) {
  say("weight", static_cast<int>(type));
  say_all(" of", rank, extents);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t, int rank,
                                              const int* padding, const int* stride,
                                              const int* dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t sums) {
  say("convolution", static_cast<int>(mode), static_cast<int>(sums));
  say_all(" padding", rank, padding);
  say_all(" stride", rank, stride);
  say_all(" dilation", rank, dilation);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t, int groups) {
  say("groups", groups);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t math) {
  say("math", static_cast<int>(math));
  return CUDNN_STATUS_SUCCESS;
}
// One algorithm is refused, one wants more memory than others.
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  *bytes = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ? 4096 : 16;
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ? refused : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t, std::size_t* bytes) {
  *bytes = 32;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t,
                                      const void* x, cudnnFilterDescriptor_t, const void* weight,
                                      cudnnConvolutionDescriptor_t,
                                      cudnnConvolutionFwdAlgo_t algorithm, void*, std::size_t bytes,
                                      const void* beta, cudnnTensorDescriptor_t, void* y) {
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0)
    return refused;
  say("forward", static_cast<int>(algorithm), bytes, reinterpret_cast<long>(x),
      reinterpret_cast<long>(weight), reinterpret_cast<long>(y));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*, cudnnFilterDescriptor_t,
                                           const void* weight, cudnnTensorDescriptor_t,
                                           const void* x, cudnnConvolutionDescriptor_t,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void*,
                                           std::size_t bytes, const void*, cudnnTensorDescriptor_t,
                                           void* y) {
  say("backward", static_cast<int>(algorithm), bytes, reinterpret_cast<long>(x),
      reinterpret_cast<long>(weight), reinterpret_cast<long>(y));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void* alpha, cudnnTensorDescriptor_t,
                             const void* added, const void* beta, cudnnTensorDescriptor_t,
                             void* y) {
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 1)
    return refused;
  say("add", reinterpret_cast<long>(added), reinterpret_cast<long>(y));
  return CUDNN_STATUS_SUCCESS;
}
}  // extern "C"
