// One convolution of cuDNN: its descriptors, algorithms and calls.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/wire/orders.hpp"
#include "backend/worker/cudnn_calls.hpp"
#include "backend/worker/library.hpp"

namespace cupilot {

// clang-format off
#define CUPILOT_CUDNN_CALLS(X) \
  X(cudnnGetErrorString) X(cudnnCreate) X(cudnnDestroy) X(cudnnSetStream) \
  X(cudnnCreateTensorDescriptor) X(cudnnDestroyTensorDescriptor) X(cudnnSetTensorNdDescriptor) \
  X(cudnnCreateFilterDescriptor) X(cudnnDestroyFilterDescriptor) X(cudnnSetFilterNdDescriptor) \
  X(cudnnCreateConvolutionDescriptor) X(cudnnDestroyConvolutionDescriptor) X(cudnnSetConvolutionNdDescriptor) \
  X(cudnnSetConvolutionGroupCount) X(cudnnSetConvolutionMathType) \
  X(cudnnGetConvolutionForwardWorkspaceSize) X(cudnnConvolutionForward) \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize) X(cudnnConvolutionBackwardData) X(cudnnAddTensor)
// clang-format on

struct CudnnCalls {
#define CUPILOT_MEMBER(name) decltype(&::name) name = nullptr;
  CUPILOT_CUDNN_CALLS(CUPILOT_MEMBER)
#undef CUPILOT_MEMBER
  std::string missing;  // why there are none; "": all are there

  // Throws OrderRefused unless the status is success.
  void expect(cudnnStatus_t status, const char* what) const;
};
// Opens a file that cudnn_file() gave; "": there are no calls.
CudnnCalls open_cudnn(const std::string& file);

// The file of the first of these names and paths that can be opened; "": there is none.
std::string cudnn_file(const std::vector<std::string>& names, LibraryPlaces where);
// Folders that a confined process reads to use this file.
std::vector<std::string> cudnn_folders(const std::string& file);

// The order's descriptors, given back at scope's end. Throws OrderRefused.
class CudnnConvolution {
 public:
  CudnnConvolution(const CudnnCalls& calls, const ConvolutionOrder& order);
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;
  ~CudnnConvolution();

  struct Algorithm {
    int number = 0;
    std::size_t bytes = 0;  // of workspace
  };
  // Those that the library has for this convolution and that need at most so much workspace.
  std::vector<Algorithm> algorithms(cudnnHandle_t handle, std::size_t most_bytes) const;

  struct Operands {
    const void *x = nullptr, *weight = nullptr, *bias = nullptr;  // bias: null where there is none
    void* y = nullptr;
  };
  void run(cudnnHandle_t handle, const Algorithm& algorithm, const Operands& operands,
           void* workspace) const;

 private:
  CudnnConvolution(const CudnnCalls& calls, bool transposed)
      : calls_(calls), transposed_(transposed) {}
  void describe(const ConvolutionOrder& order);
  cudnnTensorDescriptor_t tensor(cudnnDataType_t type, const std::vector<int>& extents);

  const CudnnCalls& calls_;
  bool transposed_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr, bias_ = nullptr;
  cudnnFilterDescriptor_t weight_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

}  // namespace cupilot
