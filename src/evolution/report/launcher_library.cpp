// The part of a launcher that lets cuBLASLt compute the steps of a plan that are its.
#include "evolution/report/launcher_library.hpp"

namespace cupilot {

std::string_view launcher_library_text() {
  return R"(
static bool is_library_step(const Launch& step) {
  return std::find(library_entries.begin(), library_entries.end(), step.entry) != library_entries.end();
}

// A product of cuBLASLt: the fastest of its first eight heuristics.
struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};
static cublasLtHandle_t library = nullptr;
static CUdeviceptr workspace = 0;
static const std::size_t workspace_bytes = std::size_t{64} << 20;
static std::map<const Launch*, Product> products;

static CUdeviceptr pointer_of(const Argument& argument) {
  return argument.kind == Argument::tensor ? tensor_memory[argument.index] : argument.kind == Argument::buffer ? buffer_memory[argument.index] : 0;
}

static void compute(const Launch& step, const Product& product, CUstream stream) {
  const auto pointer = [&](int i) { return reinterpret_cast<void*>(pointer_of(step.arguments[i])); };
  const std::int32_t bits = static_cast<std::int32_t>(step.arguments[4].number);
  float alpha, beta = 0;
  __builtin_memcpy(&alpha, &bits, 4);
  // The library's matrices stand column after column: its A is our B.
  CHECK(cublasLtMatmul(library, product.operation, &alpha, pointer(1), product.a, pointer(0), product.b, &beta, pointer(2), product.d, pointer(2),
                       product.d, &product.algorithm, reinterpret_cast<void*>(workspace), workspace_bytes, reinterpret_cast<cudaStream_t>(stream)));
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

static void choose(const Launch& step, CUstream stream) {
  if (library == nullptr) {
    CHECK(cublasLtCreate(&library));
    CHECK(cuMemAlloc(&workspace, workspace_bytes));
  }
  const auto number = [&](int i) { return static_cast<Int>(step.arguments[i].number); };
  const Int m = number(5), n = number(6), k = number(7), batch = number(8);
  const bool turned_a = number(9) != 0, turned_b = number(10) != 0, bias = pointer_of(step.arguments[3]) != 0;
  const cublasOperation_t turns[] = {CUBLAS_OP_N, CUBLAS_OP_T};
  const cublasLtEpilogue_t plain[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_GELU};
  const cublasLtEpilogue_t biased[] = {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};
  Product& product = products[&step];
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
  CHECK(cublasLtMatmulAlgoGetHeuristic(library, product.operation, product.a, product.b, product.d, product.d, preference, 8, found, &count));
  CUevent begin, end;
  CHECK(cuEventCreate(&begin, 0));
  CHECK(cuEventCreate(&end, 0));
  float least = 0;
  int best = -1;
  for (int i = 0; i < count; ++i) {
    Product tried = product;
    tried.algorithm = found[i].algo;
    compute(step, tried, stream);  // warm
    CHECK(cuEventRecord(begin, stream));
    for (int round = 0; round < 5; ++round) compute(step, tried, stream);
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, begin, end));
    if (best >= 0 && milliseconds >= least) continue;
    best = i;
    least = milliseconds;
    product.algorithm = tried.algorithm;
  }
  if (best < 0) { std::fprintf(stderr, "cuBLASLt has no algorithm for a step\n"); std::exit(1); }
}
)";
}

}  // namespace cupilot
