// cuBLASLt's first eight heuristics for one GEMM, callable from templates.py. Row-major storage is
// column-major storage of the transposed product, so D^T = op(B)^T op(A)^T is asked for.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <vector>

namespace {
struct Product {
  cublasLtMatmulDesc_t description{};
  cublasLtMatrixLayout_t a{}, b{}, d{};
  std::vector<cublasLtMatmulHeuristicResult_t> ways;
};
cublasLtHandle_t handle = nullptr;
void* workspace = nullptr;
constexpr size_t workspace_bytes = 64u << 20;

cublasLtMatrixLayout_t layout(cudaDataType_t type, long long rows, long long columns, int batch) {
  cublasLtMatrixLayout_t result{};
  cublasLtMatrixLayoutCreate(&result, type, columns, rows, columns);
  const long long stride = rows * columns;
  cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                   sizeof batch);
  cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                   sizeof stride);
  return result;
}
}  // namespace

// dtype: 0 fp32, 1 tf32, 2 bf16, 3 fp16, 4 e4m3, 5 e5m2, 6 e4m3 with sums promoted; 8-bit operands
// give bf16. Returns null when the library has no way.
extern "C" void* lt_open(int dtype, int m, int n, int k, int batch, int trans_a, int trans_b) {
  if (handle == nullptr) {
    cublasLtCreate(&handle);
    cudaMalloc(&workspace, workspace_bytes);
  }
  constexpr cudaDataType_t operands[] = {CUDA_R_32F,     CUDA_R_32F,     CUDA_R_16BF,   CUDA_R_16F,
                                         CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_8F_E4M3};
  const cudaDataType_t type = operands[dtype];
  const cudaDataType_t result = dtype < 4 ? type : CUDA_R_16BF;
  auto* product = new Product;
  cublasLtMatmulDescCreate(&product->description,
                           dtype == 1 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                           CUDA_R_32F);
  const signed char fast = dtype == 4 || dtype == 5;  // all of a sum in the tensor core
  if (dtype >= 4)
    cublasLtMatmulDescSetAttribute(product->description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                                   sizeof fast);
  const cublasOperation_t op_a = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtMatmulDescSetAttribute(product->description, CUBLASLT_MATMUL_DESC_TRANSA, &op_b,
                                 sizeof op_b);
  cublasLtMatmulDescSetAttribute(product->description, CUBLASLT_MATMUL_DESC_TRANSB, &op_a,
                                 sizeof op_a);
  product->a = trans_a ? layout(type, k, m, batch) : layout(type, m, k, batch);
  product->b = trans_b ? layout(type, n, k, batch) : layout(type, k, n, batch);
  product->d = layout(result, m, n, batch);
  cublasLtMatmulPreference_t preference{};
  cublasLtMatmulPreferenceCreate(&preference);
  const size_t bytes = workspace_bytes;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                       sizeof bytes);
  product->ways.resize(8);
  int found = 0;
  cublasLtMatmulAlgoGetHeuristic(handle, product->description, product->b, product->a, product->d,
                                 product->d, preference, 8, product->ways.data(), &found);
  cublasLtMatmulPreferenceDestroy(preference);
  product->ways.resize(static_cast<size_t>(found));
  if (found == 0) {
    delete product;
    return nullptr;
  }
  return product;
}
extern "C" int lt_ways(void* product) {
  return static_cast<int>(static_cast<Product*>(product)->ways.size());
}
extern "C" int lt_run(void* opened, int way, const void* a, const void* b, void* d) {
  const Product& product = *static_cast<Product*>(opened);
  const float one = 1.0f, zero = 0.0f;
  return cublasLtMatmul(handle, product.description, &one, b, product.b, a, product.a, &zero, d,
                        product.d, d, product.d, &product.ways[static_cast<size_t>(way)].algo,
                        workspace, workspace_bytes, nullptr);
}
