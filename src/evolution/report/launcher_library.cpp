// The parts of a launcher that let libraries compute the steps of a plan that are theirs.
#include "evolution/report/launcher_library.hpp"

#include <string_view>

#include <fmt/format.h>

#include "kernel/library_step.hpp"
#include "kernel/plan_cpp.hpp"

namespace cupilot {
namespace {

constexpr std::string_view common = R"(
// A way to compute a step; it returns the library's error, 0 for none.
using Way = std::function<int()>;
// Steps that libraries compute in the place of the kernels of their entries.
static std::map<const Launch*, Way> library_steps;
static CUdeviceptr workspace = 0;
static const std::size_t workspace_bytes = std::size_t{64} << 20;

static CUdeviceptr pointer_of(const Argument& argument) {
  return argument.kind == Argument::tensor ? tensor_memory[argument.index] : argument.kind == Argument::buffer ? buffer_memory[argument.index] : 0;
}

// Keeps the fastest of the ways that the library does not refuse.
static void keep_fastest(const Launch& step, const std::vector<Way>& ways, CUstream stream) {
  CUevent begin, end;
  CHECK(cuEventCreate(&begin, 0));
  CHECK(cuEventCreate(&end, 0));
  float least = 0;
  int refusal = 0;
  for (const Way& way : ways) {
    int error = way();  // warm
    CHECK(cuEventRecord(begin, stream));
    for (int round = 0; round < 5 && error == 0; ++round) error = way();
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, begin, end));
    if (error != 0) { refusal = error; continue; }
    if (library_steps.count(&step) != 0 && milliseconds >= least) continue;
    least = milliseconds;
    library_steps[&step] = way;
  }
  if (library_steps.count(&step) != 0) return;
  if (ways.empty()) std::fprintf(stderr, "the library has no algorithm for %s\n", step.entry);
  else std::fprintf(stderr, "the library refuses each of %zu algorithms for %s, the last with error %d\n", ways.size(), step.entry, refusal);
  std::exit(1);
}
)";

constexpr std::string_view products = R"(
// A product of cuBLASLt: the fastest of its first eight heuristics.
struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};
static cublasLtHandle_t cublaslt = nullptr;

static int compute(const Launch& step, const Product& product, CUstream stream) {
  const auto pointer = [&](int i) { return reinterpret_cast<void*>(pointer_of(step.arguments[i])); };
  const std::int32_t bits = static_cast<std::int32_t>(step.arguments[4].number);
  float alpha, beta = 0;
  __builtin_memcpy(&alpha, &bits, 4);
  // The library's matrices stand column after column: its A is our B.
  return cublasLtMatmul(cublaslt, product.operation, &alpha, pointer(1), product.a, pointer(0), product.b, &beta, pointer(2), product.d, pointer(2),
                        product.d, &product.algorithm, reinterpret_cast<void*>(workspace), workspace_bytes, reinterpret_cast<cudaStream_t>(stream));
}

static cublasLtMatrixLayout_t layout(Int type, Int rows, Int columns, Int batch) {
  const cudaDataType_t types[] = {CUDA_R_64F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F};
  cublasLtMatrixLayout_t made;
  CHECK(cublasLtMatrixLayoutCreate(&made, types[type], rows, columns, rows));
  const std::int32_t count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * columns;
  CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  return made;
}

static void choose_product(const Launch& step, CUstream stream) {
  if (cublaslt == nullptr) CHECK(cublasLtCreate(&cublaslt));
  const auto number = [&](int i) { return static_cast<Int>(step.arguments[i].number); };
  const Int m = number(5), n = number(6), k = number(7), batch = number(8);
  const bool turned_a = number(9) != 0, turned_b = number(10) != 0, bias = pointer_of(step.arguments[3]) != 0;
  const cublasOperation_t turns[] = {CUBLAS_OP_N, CUBLAS_OP_T};
  const cublasLtEpilogue_t plain[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_GELU};
  const cublasLtEpilogue_t biased[] = {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};
  Product product;
  CHECK(cublasLtMatmulDescCreate(&product.operation, number(15) != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
    CHECK(cublasLtMatmulDescSetAttribute(product.operation, which, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, turns[turned_b]);
  set(CUBLASLT_MATMUL_DESC_TRANSB, turns[turned_a]);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, (bias ? biased : plain)[number(11)]);
  if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer_of(step.arguments[3]));
  product.a = turned_b ? layout(number(13), k, n, batch) : layout(number(13), n, k, batch);
  product.b = turned_a ? layout(number(12), m, k, batch) : layout(number(12), k, m, batch);
  product.d = layout(number(14), n, m, batch);
  cublasLtMatmulPreference_t preference;
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes));
  cublasLtMatmulHeuristicResult_t found[8];
  int count = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(cublaslt, product.operation, product.a, product.b, product.d, product.d, preference, 8, found, &count));
  std::vector<Way> ways;
  for (int i = 0; i < count; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
    product.algorithm = found[i].algo;
    ways.push_back([&step, product, stream] { return compute(step, product, stream); });
  }
  keep_fastest(step, ways, stream);
}
)";

constexpr std::string_view convolutions = R"(
// A convolution of cuDNN: the fastest of those that sum its terms as they are.
struct Convolution {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t weight = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  bool transposed = false;
  int algorithm = 0;
  std::size_t bytes = 0;
};
static cudnnHandle_t cudnn = nullptr;

static int compute(const Launch& step, const Convolution& c) {
  const auto pointer = [&](int i) { return reinterpret_cast<void*>(pointer_of(step.arguments[i])); };
  const float one = 1, zero = 0;
  void* const room = reinterpret_cast<void*>(workspace);
  int error;
  if (c.transposed)
    error = cudnnConvolutionBackwardData(cudnn, &one, c.weight, pointer(1), c.x, pointer(0), c.convolution,
                                         static_cast<cudnnConvolutionBwdDataAlgo_t>(c.algorithm), room, c.bytes, &zero, c.y, pointer(2));
  else
    error = cudnnConvolutionForward(cudnn, &one, c.x, pointer(0), c.weight, pointer(1), c.convolution,
                                    static_cast<cudnnConvolutionFwdAlgo_t>(c.algorithm), room, c.bytes, &zero, c.y, pointer(2));
  if (error != 0 || c.bias == nullptr) return error;
  return cudnnAddTensor(cudnn, &one, c.bias, pointer(3), &one, c.y, pointer(2));
}

static cudnnTensorDescriptor_t described(cudnnDataType_t type, const std::vector<int>& extents) {
  std::vector<int> strides(extents.size(), 1);
  for (std::size_t d = extents.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * extents[d];
  cudnnTensorDescriptor_t made;
  CHECK(cudnnCreateTensorDescriptor(&made));
  CHECK(cudnnSetTensorNdDescriptor(made, type, static_cast<int>(extents.size()), extents.data(), strides.data()));
  return made;
}

static void choose_convolution(const Launch& step, CUstream stream) {
  if (cudnn == nullptr) {
    CHECK(cudnnCreate(&cudnn));
    CHECK(cudnnSetStream(cudnn, reinterpret_cast<cudaStream_t>(stream)));
  }
  const auto number = [&](int i) { return static_cast<int>(step.arguments[i].number); };
  const int batch = number(4), channels = number(5), outputs = number(6), groups = number(7);
  enum { size = 8, window = 11, places = 14, stride = 17, dilation = 20, padding = 23 };
  // The library takes two or three dimensions in space; absent ones are 1 in front.
  bool flat = number(padding) == 0;
  for (const int one : {size, window, places, stride, dilation}) flat = flat && number(one) == 1;
  const auto extents = [&](std::vector<int> first, int from) {
    for (int d = flat ? 1 : 0; d < 3; ++d) first.push_back(from < 0 ? 1 : number(from + d));
    return first;
  };
  const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF};
  const cudnnDataType_t type = types[number(27)];
  const bool tf32 = number(28) != 0;
  Convolution c;
  c.transposed = number(26) != 0;
  c.x = described(type, extents({batch, channels}, size));
  c.y = described(type, extents({batch, outputs}, places));
  if (pointer_of(step.arguments[3]) != 0) c.bias = described(type, extents({1, outputs}, -1));
  const std::vector<int> weight = extents(c.transposed ? std::vector<int>{channels, outputs / groups} : std::vector<int>{outputs, channels / groups}, window);
  CHECK(cudnnCreateFilterDescriptor(&c.weight));
  CHECK(cudnnSetFilterNdDescriptor(c.weight, type, CUDNN_TENSOR_NCHW, static_cast<int>(weight.size()), weight.data()));
  const std::vector<int> paddings = extents({}, padding), strides = extents({}, stride), dilations = extents({}, dilation);
  CHECK(cudnnCreateConvolutionDescriptor(&c.convolution));
  CHECK(cudnnSetConvolutionNdDescriptor(c.convolution, static_cast<int>(paddings.size()), paddings.data(), strides.data(), dilations.data(),
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  CHECK(cudnnSetConvolutionGroupCount(c.convolution, groups));
  CHECK(cudnnSetConvolutionMathType(c.convolution, type != CUDNN_DATA_FLOAT ? CUDNN_TENSOR_OP_MATH : tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH));
  std::vector<Way> ways;
  const auto offer = [&](int algorithm, cudnnStatus_t status) {
    c.algorithm = algorithm;
    if (status == CUDNN_STATUS_SUCCESS && c.bytes <= workspace_bytes) ways.push_back([&step, c] { return compute(step, c); });
  };
  const cudnnConvolutionBwdDataAlgo_t back = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
  if (c.transposed)
    offer(back, cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, c.weight, c.x, c.convolution, c.y, back, &c.bytes));
  for (const cudnnConvolutionFwdAlgo_t one : {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_GEMM})
    if (!c.transposed) offer(one, cudnnGetConvolutionForwardWorkspaceSize(cudnn, c.x, c.weight, c.convolution, c.y, one, &c.bytes));
  keep_fastest(step, ways, stream);
}
)";

struct StepText {
  std::string_view library, text, choice;
};
constexpr StepText step_texts[] = {{cublaslt_library, products, "choose_product"},
                                   {cudnn_library, convolutions, "choose_convolution"}};

}  // namespace

std::string launcher_library_text(const ResolvedPlan& plan) {
  std::string texts, choices;
  for (const StepText& one : step_texts) {
    std::string entries;
    for (const ResolvedLaunch& launch : plan.launches) {
      if (launch.library == one.library)
        entries += (entries.empty() ? "" : ", ") + cpp_quoted(launch.entry);
    }
    if (entries.empty()) continue;
    texts += one.text;
    choices += fmt::format(
        "  static const std::vector<std::string> {0}_entries = {{{1}}};\n"
        "  for (const Launch& step : plan.launches)\n"
        "    if (std::find({0}_entries.begin(), {0}_entries.end(), step.entry) != "
        "{0}_entries.end()) "
        "{2}(step, stream);\n",
        one.library, entries, one.choice);
  }
  if (texts.empty()) return "";
  return fmt::format(
      "{}{}\nstatic void choose(CUstream stream) {{\n"
      "  CHECK(cuMemAlloc(&workspace, workspace_bytes));\n{}}}\n\n",
      common, texts, choices);
}

}  // namespace cupilot
