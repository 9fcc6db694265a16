#include "backend/worker/cublaslt.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>

#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cupilot/parts/dtype.hpp>

#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

// clang-format off
#define CUPILOT_CUBLASLT_CALLS(X) \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtMatmul) X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) \
  X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy) \
  X(cublasLtMatrixLayoutSetAttribute) X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) \
  X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic)
// clang-format on

struct LibraryCalls {
#define CUPILOT_MEMBER(name) decltype(&::name) name = nullptr;
  CUPILOT_CUBLASLT_CALLS(CUPILOT_MEMBER)
#undef CUPILOT_MEMBER
};

constexpr std::size_t workspace_bytes = 64u << 20;
constexpr int most_heuristics = 8;

void expect(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw OrderRefused{static_cast<int>(status),
                       fmt::format("cuBLASLt: {}: status {}", what, static_cast<int>(status))};
}

cudaDataType_t data_type(int type) {
  switch (static_cast<DType>(type)) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    case DType::e4m3:
      return CUDA_R_8F_E4M3;
    case DType::e5m2:
      return CUDA_R_8F_E5M2;
    default:
      throw OrderRefused{0, "cuBLASLt: no baseline for this type"};
  }
}

cublasLtEpilogue_t epilogue_of(int epilogue, bool bias) {
  switch (epilogue) {
    case LibraryOrder::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case LibraryOrder::gelu:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

// Bytes that an address is a multiple of, as the library asks for them.
std::uint32_t alignment_of(CUdeviceptr address) {
  constexpr CUdeviceptr most = 256;
  return static_cast<std::uint32_t>((address | most) & ~((address | most) - 1));
}

// Alignments of A, B, C and D.
std::array<std::uint32_t, 4> alignments_of(const LibraryOrder& o, const CudaSession& session) {
  const CUdeviceptr d = session.address(o.d), c = o.c.slot >= 0 ? session.address(o.c) : d;
  return {alignment_of(session.address(o.a)), alignment_of(session.address(o.b)), alignment_of(c),
          alignment_of(d)};
}

// Returns the key under which a product's plan is remembered: everything but addresses, of which
// it has the alignments.
std::string key_of(const LibraryOrder& o, bool cold, const CudaSession& session) {
  return fmt::format("{} {} {} {} {} {} {} {}{}{} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     fmt::join(alignments_of(o, session), " "), o.scale, o.type_a, o.type_b,
                     o.type_c, o.type_d, o.compute, o.trans_a, o.trans_b, o.epilogue, o.rows,
                     o.columns, o.depth, o.batch, o.ld_a, o.ld_b, o.ld_d, o.stride_a, o.stride_b,
                     o.stride_d, o.beta != 0, o.bias.slot >= 0, cold);
}

struct LibraryMatmulState {
  CudaSession& session;
  TimedRunner& visitor;
  LibraryPlaces places;
  LibraryCalls calls;
  std::string missing;
  bool opened = false;
  cublasLtHandle_t handle = nullptr;
  CUdeviceptr workspace = 0;
  std::map<std::string, cublasLtMatmulAlgo_t> best;

  LibraryMatmulState(CudaSession& with, TimedRunner& by, LibraryPlaces where)
      : session(with), visitor(by), places(where) {}
  LibraryMatmulState(const LibraryMatmulState&) = delete;
  LibraryMatmulState& operator=(const LibraryMatmulState&) = delete;
  ~LibraryMatmulState() {
    if (workspace != 0) driver().cuMemFree(workspace);
    if (handle != nullptr) calls.cublasLtDestroy(handle);
  }

  void open() {
    if (opened) return;
    opened = true;
    const OpenedLibrary library = open_library({"libcublasLt.so.13", "libcublasLt.so.12"}, places);
    if (library.handle == nullptr) {
      missing = library.reason;
      return;
    }
#define CUPILOT_LOAD(name)                                                        \
  calls.name = reinterpret_cast<decltype(&::name)>(dlsym(library.handle, #name)); \
  if (calls.name == nullptr) missing = library.path + " lacks " #name;
    CUPILOT_CUBLASLT_CALLS(CUPILOT_LOAD)
#undef CUPILOT_LOAD
    if (!missing.empty()) return;
    expect(calls.cublasLtCreate(&handle), "creating a handle");
    check(driver().cuMemAlloc(&workspace, workspace_bytes), "memory for cuBLASLt");
  }
};

// Descriptors of one product, given back at scope's end.
struct Product {
  const LibraryCalls& calls;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  Product(const LibraryCalls& with, const LibraryOrder& order, const CudaSession& session)
      : calls(with) {
    const cublasComputeType_t compute =
        order.compute == LibraryOrder::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    expect(calls.cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F),
           "describing the product");
    const cublasOperation_t op_a = order.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                            op_b = order.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    attribute(CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    attribute(CUBLASLT_MATMUL_DESC_TRANSB, op_b);
    // Without it the library adds sums up in fp32 now and then, which costs time.
    const std::int8_t fast = order.compute == LibraryOrder::fast ? 1 : 0;
    if (size_of(static_cast<DType>(order.type_a)) == 1)
      attribute(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    if (order.scale != 0) scales(order, session);
    const bool bias = order.bias.slot >= 0;
    attribute(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(order.epilogue, bias));
    if (bias) {
      const void* pointer = reinterpret_cast<const void*>(session.address(order.bias));
      attribute(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
      attribute(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(order.type_c));
    }
    a = layout(order.type_a, order.trans_a ? order.depth : order.rows,
               order.trans_a ? order.rows : order.depth, order.ld_a, order.batch, order.stride_a);
    b = layout(order.type_b, order.trans_b ? order.columns : order.depth,
               order.trans_b ? order.depth : order.columns, order.ld_b, order.batch,
               order.stride_b);
    c = layout(order.type_c, order.rows, order.columns, order.ld_d, order.batch, order.stride_d);
    d = layout(order.type_d, order.rows, order.columns, order.ld_d, order.batch, order.stride_d);
    expect(calls.cublasLtMatmulPreferenceCreate(&preference), "making a preference");
    const std::size_t room = workspace_bytes;
    expect(calls.cublasLtMatmulPreferenceSetAttribute(
               preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room),
           "setting the workspace");
    constexpr cublasLtMatmulPreferenceAttributes_t least[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const auto bytes = alignments_of(order, session);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      expect(calls.cublasLtMatmulPreferenceSetAttribute(preference, least[i], &bytes[i],
                                                        sizeof bytes[i]),
             "setting an alignment");
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    if (preference != nullptr) calls.cublasLtMatmulPreferenceDestroy(preference);
    for (const cublasLtMatrixLayout_t matrix : {a, b, c, d}) {
      if (matrix != nullptr) calls.cublasLtMatrixLayoutDestroy(matrix);
    }
    if (operation != nullptr) calls.cublasLtMatmulDescDestroy(operation);
  }

  // The library's A has the factors of our B: blocks of 128 by 128, and those of our A lines of
  // 128.
  void scales(const LibraryOrder& order, const CudaSession& session) {
    const bool blocks = order.scale == LibraryOrder::scaled_blocks;
    const auto mode_a = blocks ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                               : CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    const auto mode_b =
        blocks ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F : CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    attribute(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_a);
    attribute(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_b);
    const void* a_factors = reinterpret_cast<const void*>(session.address(order.scale_a));
    const void* b_factors = reinterpret_cast<const void*>(session.address(order.scale_b));
    attribute(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a_factors);
    attribute(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b_factors);
  }
  template <class T>
  void attribute(cublasLtMatmulDescAttributes_t which, const T& value) {
    expect(calls.cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value),
           "setting an attribute");
  }
  cublasLtMatrixLayout_t layout(int type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                std::int64_t batch, std::int64_t stride) {
    cublasLtMatrixLayout_t matrix = nullptr;
    expect(
        calls.cublasLtMatrixLayoutCreate(&matrix, data_type(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), ld),
        "describing a matrix");
    if (batch > 1) {
      const int count = static_cast<int>(batch);
      expect(calls.cublasLtMatrixLayoutSetAttribute(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                    &count, sizeof count),
             "setting the batch");
      expect(calls.cublasLtMatrixLayoutSetAttribute(
                 matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
             "setting the stride");
    }
    return matrix;
  }
};

std::shared_ptr<const Product> open_product(LibraryMatmulState& state, const LibraryOrder& order) {
  state.open();
  if (!state.missing.empty()) throw OrderRefused{0, "cuBLASLt " + state.missing};
  return std::make_shared<const Product>(state.calls, order, state.session);
}

// Puts the product on the session's stream.
void run(LibraryMatmulState& state, const Product& product, const LibraryOrder& order,
         const cublasLtMatmulAlgo_t& algorithm) {
  const auto pointer = [&](const Region& region) {
    return reinterpret_cast<void*>(state.session.address(region));
  };
  const float alpha = static_cast<float>(order.alpha), beta = static_cast<float>(order.beta);
  void* const c = order.c.slot >= 0 ? pointer(order.c) : pointer(order.d);
  expect(state.calls.cublasLtMatmul(state.handle, product.operation, &alpha, pointer(order.a),
                                    product.a, pointer(order.b), product.b, &beta, c, product.c,
                                    pointer(order.d), product.d, &algorithm,
                                    reinterpret_cast<void*>(state.workspace), workspace_bytes,
                                    reinterpret_cast<cudaStream_t>(state.session.stream())),
         "the product");
}

// The algorithms that the heuristic offers, best first.
std::vector<cublasLtMatmulAlgo_t> offered(LibraryMatmulState& state, const Product& product) {
  cublasLtMatmulHeuristicResult_t found[most_heuristics] = {};
  int count = 0;
  expect(state.calls.cublasLtMatmulAlgoGetHeuristic(
             state.handle, product.operation, product.a, product.b, product.c, product.d,
             product.preference, most_heuristics, found, &count),
         "asking the heuristic");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(found[i].algo);
  }
  return algorithms;
}

}  // namespace

struct LibraryMatmul::State : LibraryMatmulState {
  using LibraryMatmulState::LibraryMatmulState;
};

LibraryMatmul::LibraryMatmul(CudaSession& session, TimedRunner& visitor, LibraryPlaces places)
    : state_(new State(session, visitor, places)) {}
LibraryMatmul::~LibraryMatmul() = default;

ReadyStep LibraryMatmul::ready(const LibraryOrder& order, const std::vector<Region>& poison,
                               bool cold, AlgorithmChoice choice) {
  State& state = *state_;
  const auto product = open_product(state, order);
  const std::string key = key_of(order, cold, state.session);
  ReadyStep made;
  const auto known = state.best.find(key);
  auto algorithm = known == state.best.end() ? std::nullopt : std::optional(known->second);
  if (!algorithm) {
    const auto once = [&](const cublasLtMatmulAlgo_t& one) { run(state, *product, order, one); };
    const auto all = offered(state, *product);
    algorithm = choice == AlgorithmChoice::first ? first_taken(all, once)
                                                 : fastest(state.visitor, all, once, poison, cold);
    if (!algorithm) throw OrderRefused{0, "cuBLASLt has no algorithm for this product"};
    if (choice == AlgorithmChoice::fastest) state.best.emplace(key, *algorithm);
    made.tried = true;
  }
  made.run = [&state, product, order, algorithm = *algorithm] {
    run(state, *product, order, algorithm);
  };
  return made;
}

}  // namespace cupilot
