// The part of cuDNN 9's C interface that convolutions need, declared here: its headers are not
// needed to build. Names and numbers are the library's.
#pragma once

#include <cstddef>

extern "C" {

using cudnnHandle_t = struct cudnnContext*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnFilterDescriptor_t = struct cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = struct cudnnConvolutionStruct*;
using cudnnStream_t = struct CUstream_st*;

enum cudnnStatus_t : int { CUDNN_STATUS_SUCCESS = 0 };
enum cudnnDataType_t : int { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t : int { CUDNN_TENSOR_NCHW = 0 };
enum cudnnConvolutionMode_t : int { CUDNN_CROSS_CORRELATION = 1 };
// default: operands of fp32 may be rounded to TF32; tensor: 16-bit operands in tensor cores; fma:
// neither.
enum cudnnMathType_t : int { CUDNN_DEFAULT_MATH = 0, CUDNN_TENSOR_OP_MATH = 1, CUDNN_FMA_MATH = 3 };
// Those that sum an element's terms as they are and give equal bits each time; others transform
// them (FFT, Winograd) or add up in any order.
enum cudnnConvolutionFwdAlgo_t : int {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2
};
enum cudnnConvolutionBwdDataAlgo_t : int { CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1 };

const char* cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudnnStream_t stream);
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t one);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t one, cudnnDataType_t type,
                                         int rank, const int* extents, const int* strides);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t one);
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t one, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int* extents);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t one);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t one, int rank,
                                              const int* padding, const int* stride,
                                              const int* dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t sums);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t one, int groups);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t one, cudnnMathType_t math);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t weight,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t x_form, const void* x,
                                      cudnnFilterDescriptor_t weight_form, const void* weight,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      std::size_t bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_form, void* y);
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, cudnnFilterDescriptor_t weight, cudnnTensorDescriptor_t x,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
    cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t weight_form, const void* weight,
                                           cudnnTensorDescriptor_t x_form, const void* x,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           std::size_t bytes, const void* beta,
                                           cudnnTensorDescriptor_t y_form, void* y);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t form,
                             const void* added, const void* beta, cudnnTensorDescriptor_t y_form,
                             void* y);
}  // extern "C"
