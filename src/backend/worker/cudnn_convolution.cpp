#include "backend/worker/cudnn_convolution.hpp"

#include <filesystem>
#include <limits>

#include <dlfcn.h>
#include <fmt/core.h>

#include <cupilot/parts/dtype.hpp>

#include "backend/worker/library.hpp"
#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

namespace fs = std::filesystem;

// The folder of Python packages of CUDA libraries that the file lies in, NVIDIA's of pip; "": it
// lies in none.
fs::path packages_of(const fs::path& file) {
  const fs::path packages = file.parent_path().parent_path().parent_path();
  return packages.filename() == "nvidia" ? packages : fs::path();
}

cudnnDataType_t operand_type(int type) {
  switch (static_cast<DType>(type)) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      throw OrderRefused{0, "cuDNN: no convolution of this type"};
  }
}

cudnnMathType_t math_of(const ConvolutionOrder& order) {
  if (static_cast<DType>(order.type) != DType::f32) return CUDNN_TENSOR_OP_MATH;
  return order.compute == LibraryOrder::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// The first of three spatial dimensions that the library is told of: it takes two or three.
std::size_t first_dimension(const ConvolutionOrder& o) {
  const bool flat = o.size[0] == 1 && o.window[0] == 1 && o.places[0] == 1 && o.stride[0] == 1 &&
                    o.padding[0] == 0 && o.dilation[0] == 1;
  return flat ? 1 : 0;
}

std::vector<int> extents(std::initializer_list<std::int64_t> first,
                         const std::int64_t (&in_space)[3], std::size_t from) {
  std::vector<int> out;
  for (const std::int64_t one : first) out.push_back(static_cast<int>(one));
  for (std::size_t d = from; d < 3; ++d) out.push_back(static_cast<int>(in_space[d]));
  return out;
}

}  // namespace

void CudnnCalls::expect(cudnnStatus_t status, const char* what) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw OrderRefused{static_cast<int>(status),
                       fmt::format("cuDNN: {}: {}", what, cudnnGetErrorString(status))};
}

std::string cudnn_file(const std::vector<std::string>& names, LibraryPlaces where) {
  const OpenedLibrary library = open_library(names, where);
  return library.handle == nullptr ? "" : library.path;
}

std::vector<std::string> cudnn_folders(const std::string& file) {
  if (file.empty()) return {};
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(file, ignored);
  std::vector<std::string> folders{fs::path(file).parent_path(), whole.parent_path()};
  for (const fs::path& one : {fs::path(file), whole})
    if (const fs::path packages = packages_of(one); !packages.empty()) folders.push_back(packages);
  return folders;
}

CudnnCalls open_cudnn(const std::string& file) {
  CudnnCalls calls;
  calls.missing = "is not asked for, or not found where CUPILOT_CUDNN says";
  if (file.empty()) return calls;
  const OpenedLibrary library = open_library({file}, LibraryPlaces::loader);
  calls.missing = library.reason;
  if (library.handle == nullptr) return calls;
#define CUPILOT_LOAD(name)                                                        \
  calls.name = reinterpret_cast<decltype(&::name)>(dlsym(library.handle, #name)); \
  if (calls.name == nullptr) calls.missing = library.path + " lacks " #name;
  CUPILOT_CUDNN_CALLS(CUPILOT_LOAD)
#undef CUPILOT_LOAD
  return calls;
}

CudnnConvolution::CudnnConvolution(const CudnnCalls& calls, const ConvolutionOrder& order)
    : CudnnConvolution(calls, order.transposed) {
  describe(order);  // gives back what it described where it throws
}

CudnnConvolution::~CudnnConvolution() {
  for (const cudnnTensorDescriptor_t one : {x_, y_, bias_})
    if (one != nullptr) calls_.cudnnDestroyTensorDescriptor(one);
  if (weight_ != nullptr) calls_.cudnnDestroyFilterDescriptor(weight_);
  if (convolution_ != nullptr) calls_.cudnnDestroyConvolutionDescriptor(convolution_);
}

cudnnTensorDescriptor_t CudnnConvolution::tensor(cudnnDataType_t type,
                                                 const std::vector<int>& extents) {
  std::vector<int> strides(extents.size(), 1);
  std::int64_t below = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = static_cast<int>(below);
    below *= extents[d];
    if (below > std::numeric_limits<int>::max())
      throw OrderRefused{0, "cuDNN: a tensor of 2^31 elements or more"};
  }
  cudnnTensorDescriptor_t made = nullptr;
  calls_.expect(calls_.cudnnCreateTensorDescriptor(&made), "describing a tensor");
  const cudnnStatus_t set = calls_.cudnnSetTensorNdDescriptor(
      made, type, static_cast<int>(extents.size()), extents.data(), strides.data());
  if (set != CUDNN_STATUS_SUCCESS) calls_.cudnnDestroyTensorDescriptor(made);
  calls_.expect(set, "describing a tensor");
  return made;
}

void CudnnConvolution::describe(const ConvolutionOrder& o) {
  const cudnnDataType_t type = operand_type(o.type);
  const std::size_t from = first_dimension(o);
  const std::int64_t ones[3] = {1, 1, 1};
  x_ = tensor(type, extents({o.batch, o.channels}, o.size, from));
  y_ = tensor(type, extents({o.batch, o.outputs}, o.places, from));
  if (o.bias.slot >= 0) bias_ = tensor(type, extents({1, o.outputs}, ones, from));
  const auto weight = o.transposed ? extents({o.channels, o.outputs / o.groups}, o.window, from)
                                   : extents({o.outputs, o.channels / o.groups}, o.window, from);
  calls_.expect(calls_.cudnnCreateFilterDescriptor(&weight_), "describing the weight");
  calls_.expect(calls_.cudnnSetFilterNdDescriptor(weight_, type, CUDNN_TENSOR_NCHW,
                                                  static_cast<int>(weight.size()), weight.data()),
                "describing the weight");
  const auto padding = extents({}, o.padding, from), stride = extents({}, o.stride, from),
             dilation = extents({}, o.dilation, from);
  calls_.expect(calls_.cudnnCreateConvolutionDescriptor(&convolution_), "describing it");
  calls_.expect(calls_.cudnnSetConvolutionNdDescriptor(
                    convolution_, static_cast<int>(padding.size()), padding.data(), stride.data(),
                    dilation.data(), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                "describing it");
  calls_.expect(calls_.cudnnSetConvolutionGroupCount(convolution_, static_cast<int>(o.groups)),
                "its groups");
  calls_.expect(calls_.cudnnSetConvolutionMathType(convolution_, math_of(o)), "its class");
}

std::vector<CudnnConvolution::Algorithm> CudnnConvolution::algorithms(
    cudnnHandle_t handle, std::size_t most_bytes) const {
  std::vector<Algorithm> found;
  const auto offer = [&](int number, cudnnStatus_t status, std::size_t bytes) {
    if (status == CUDNN_STATUS_SUCCESS && bytes <= most_bytes) found.push_back({number, bytes});
  };
  std::size_t bytes = 0;
  if (transposed_) {
    const auto one = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
    const cudnnStatus_t status = calls_.cudnnGetConvolutionBackwardDataWorkspaceSize(
        handle, weight_, x_, convolution_, y_, one, &bytes);
    offer(one, status, bytes);
    return found;
  }
  for (const auto one :
       {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
        CUDNN_CONVOLUTION_FWD_ALGO_GEMM}) {
    const cudnnStatus_t status = calls_.cudnnGetConvolutionForwardWorkspaceSize(
        handle, x_, weight_, convolution_, y_, one, &bytes);
    offer(one, status, bytes);
  }
  return found;
}

void CudnnConvolution::run(cudnnHandle_t handle, const Algorithm& algorithm,
                           const Operands& operands, void* workspace) const {
  const float one = 1, zero = 0;
  const cudnnStatus_t status =
      transposed_ ? calls_.cudnnConvolutionBackwardData(
                        handle, &one, weight_, operands.weight, x_, operands.x, convolution_,
                        static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.number), workspace,
                        algorithm.bytes, &zero, y_, operands.y)
                  : calls_.cudnnConvolutionForward(
                        handle, &one, x_, operands.x, weight_, operands.weight, convolution_,
                        static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.number), workspace,
                        algorithm.bytes, &zero, y_, operands.y);
  calls_.expect(status, "the convolution");
  if (bias_ == nullptr) return;
  calls_.expect(calls_.cudnnAddTensor(handle, &one, bias_, operands.bias, &one, y_, operands.y),
                "the bias");
}

}  // namespace cupilot
