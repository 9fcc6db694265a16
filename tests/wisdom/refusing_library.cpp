// A launcher (main.cpp) with libraries that refuse: `refusing ALGORITHM…` prints the algorithm that
// computes the first step where those are refused when they run.
#define main launcher_main
#include "main.cpp"
#undef main

#include <set>

namespace {

std::set<int> refused;
int ran = -1;

int answer(int algorithm) {
  if (refused.count(algorithm) != 0) return 15;
  ran = algorithm;
  return 0;
}

}  // namespace

extern "C" {

CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) {
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuMemAlloc(CUdeviceptr* memory, std::size_t) { return *memory = 256, CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent*, unsigned) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  return *milliseconds = 1, CUDA_SUCCESS;
}

#ifdef CUBLASLT
constexpr auto done = CUBLAS_STATUS_SUCCESS;
cublasStatus_t cublasLtCreate(cublasLtHandle_t*) { return done; }
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t*, cudaDataType, std::uint64_t,
                                          std::uint64_t, std::int64_t) {
  return done;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayoutAttribute_t, const void*,
                                                std::size_t) {
  return done;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t*, cublasComputeType_t,
                                        cudaDataType_t) {
  return done;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                                              const void*, std::size_t) {
  return done;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t*) { return done; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return done;
}
// Three algorithms, and one that the heuristic itself gives up.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  *count = 4;
  for (int i = 0; i < *count; ++i) {
    found[i].algo.data[0] = static_cast<std::uint64_t>((i + 3) % 4);
    found[i].state = i == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : done;
  }
  return done;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t,
                              const void*, const void*, cublasLtMatrixLayout_t, void*,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm, void*,
                              std::size_t, cudaStream_t) {
  return static_cast<cublasStatus_t>(answer(static_cast<int>(algorithm->data[0])));
}
#endif

#ifdef CUDNN
constexpr auto fine = CUDNN_STATUS_SUCCESS;
cudnnStatus_t cudnnCreate(cudnnHandle_t*) { return fine; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudnnStream_t) { return fine; }
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t*) { return fine; }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t, cudnnDataType_t, int, const int*,
                                         const int*) {
  return fine;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t*) { return fine; }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t, cudnnDataType_t,
                                         cudnnTensorFormat_t, int, const int*) {
  return fine;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t*) { return fine; }
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t, int, const int*,
                                              const int*, const int*, cudnnConvolutionMode_t,
                                              cudnnDataType_t) {
  return fine;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t, int) { return fine; }
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return fine;
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t, std::size_t* bytes) {
  return *bytes = 0, fine;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t,
                                      const void*, cudnnFilterDescriptor_t, const void*,
                                      cudnnConvolutionDescriptor_t,
                                      cudnnConvolutionFwdAlgo_t algorithm, void*, std::size_t,
                                      const void*, cudnnTensorDescriptor_t, void*) {
  return static_cast<cudnnStatus_t>(answer(algorithm));
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t, std::size_t*) {
  return fine;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*, cudnnFilterDescriptor_t,
                                           const void*, cudnnTensorDescriptor_t, const void*,
                                           cudnnConvolutionDescriptor_t,
                                           cudnnConvolutionBwdDataAlgo_t, void*, std::size_t,
                                           const void*, cudnnTensorDescriptor_t, void*) {
  return fine;
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void*, cudnnTensorDescriptor_t, const void*,
                             const void*, cudnnTensorDescriptor_t, void*) {
  return fine;
}
#endif

}  // extern "C"

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) refused.insert(std::atoi(words[i]));
  tensor_memory.resize(8);
  buffer_memory.resize(8);
  choose(nullptr);
  ran = -1;
  launch(plan.launches.front(), nullptr);
  std::printf("algorithm %d\n", ran);
}
