// Products of quantised operands with their factors: the task, its reference against independent
// arithmetic, its bound.
#include <cmath>

#include "catch.hpp"
#include "task/host_gemm.hpp"

namespace cupilot {
namespace {

using host_gemm::Problem;

struct ScaledInputs : host_gemm::HostInputs<double> {
  double scale_a(long long i) const { return problem.at("scale_a", i); }
  double scale_b(long long i) const { return problem.at("scale_b", i); }
};

#define __device__ inline
#define SCALED_VARIANT(name, trans_a, trans_b, scaling)                                       \
  namespace name {                                                                            \
  using real = double;                                                                        \
  constexpr int TRANS_A = trans_a, TRANS_B = trans_b, HAS_ALPHA = 1, HAS_C = 1, HAS_BIAS = 1, \
                ACT = 1, SCALE = scaling;

SCALED_VARIANT(tensor_nn, 0, 0, 1)
#include "reference/matmul/scaled_gemm.cu"
}
SCALED_VARIANT(block_nt, 0, 1, 2)
#include "reference/matmul/scaled_gemm.cu"
}
SCALED_VARIANT(block_tn, 1, 0, 2)
#include "reference/matmul/scaled_gemm.cu"
}
#undef SCALED_VARIANT
#undef __device__

TEST_CASE("every factor multiplies its own block, in every layout and batch") {
  struct Row {
    const char* layout;
    Scaling scale;
    double (*reference)(const ScaledInputs&, long long);
  };
  const auto row = GENERATE(values<Row>({
      {"nn", Scaling::tensor,
       [](const ScaledInputs& in, long long i) { return tensor_nn::reference_D(in, i); }},
      {"nt", Scaling::block,
       [](const ScaledInputs& in, long long i) { return block_nt::reference_D(in, i); }},
      {"tn", Scaling::block,
       [](const ScaledInputs& in, long long i) { return block_tn::reference_D(in, i); }},
  }));
  constexpr long long m = 5, n = 259, k = 300, batches = 2;
  GemmSpec spec{.m = m,
                .n = n,
                .k = k,
                .batch = batches,
                .dtype = DType::e4m3,
                .layout = row.layout,
                .alpha = 0.5,
                .beta = -2};
  spec.bias = true;
  spec.act = Activation::relu;
  spec.scale = row.scale;
  const Problem p(spec, {.seed = 3});
  const ScaledInputs in{{p}};
  const bool blocks = row.scale == Scaling::block;
  for (const long long index :
       {0ll, 127ll, 128ll, 258ll, 4 * n + 200, m * n, m * n + 3 * n + 255, 2 * m * n - 1}) {
    const long long batch = index / (m * n), i = index / n % m, j = index % n;
    double want = 0;
    for (long long q = 0; q < k; ++q) {
      const double a = p.at("A", batch * m * k + (row.layout[0] == 't' ? q * m + i : i * k + q));
      const double b = p.at("B", batch * k * n + (row.layout[1] == 't' ? j * k + q : q * n + j));
      const double factor_a = p.at("scale_a", blocks ? (batch * 3 + q / 128) * m + i : 0);
      const double factor_b = p.at("scale_b", blocks ? (batch * 3 + j / 128) * 3 + q / 128 : 0);
      want += a * factor_a * b * factor_b;
    }
    want = std::fmax(0.5 * want - 2 * p.at("C", index) + p.at("bias", j), 0.0);
    CHECK(row.reference(in, index) == Approx(want).margin(1e-9));
  }
}

TEST_CASE("factors are tensors of the task, in a family of its own") {
  const auto task = gemm_of({"m=130", "n=129", "k=257", "batch=2", "dtype=e5m2", "scale=block"});
  REQUIRE(task);
  CHECK(task->family == "scaled_gemm");
  CHECK(task->constants.at("SCALE") == 2);
  CHECK(task->precision == Precision::fp8_promoted);
  const Workload& shape = task->time_shapes[0];
  CHECK(shape_of(*task, *find_tensor(*task, "scale_a"), shape)->extents ==
        std::vector<std::int64_t>{2, 3, 130});
  CHECK(shape_of(*task, *find_tensor(*task, "scale_b"), shape)->extents ==
        std::vector<std::int64_t>{2, 2, 3});

  const auto whole = gemm_of({"dtype=e4m3", "scale=tensor"});
  REQUIRE(whole);
  CHECK(whole->precision == Precision::fp8);
  CHECK(shape_of(*whole, *find_tensor(*whole, "scale_b"), whole->time_shapes[0])->extents ==
        std::vector<std::int64_t>{1});

  const auto plain = gemm_of({"dtype=e4m3", "scale=none"});
  REQUIRE(plain);
  CHECK(plain->family == "gemm");
  CHECK(plain->constants.count("SCALE") == 0);
}

TEST_CASE("factors of sums are finite in every content, operands are not") {
  const Task task = *gemm_of({"m=64", "n=256", "k=512", "dtype=e5m2", "scale=block"});
  for (std::size_t i = 0; i + 1 < task.tensors.size(); ++i) {
    const auto params = fill_params(task, i, task.time_shapes[0], {1, ContentKind::special});
    REQUIRE(params);
    CHECK(params->content ==
          (task.tensors[i].type == DType::f32 ? content_ordinary : content_special));
  }
}

// What a unit of the condition sum may differ by.
double per_sum(const std::vector<std::string>& words) {
  const Task task = *gemm_of(words);
  return bound_params(task, task.tensors.size() - 1, task.time_shapes[0], {})->per_sum;
}

TEST_CASE("the bound of promoted sums stops growing with K, and no factor or bias loosens it") {
  const double at_128 = per_sum({"k=128", "dtype=e4m3", "precision=fp8-promoted"});
  CHECK(at_128 == per_sum({"k=128", "dtype=e4m3"}));
  CHECK(per_sum({"k=8192", "dtype=e4m3", "precision=fp8-promoted"}) < 1.02 * at_128);
  CHECK(per_sum({"k=8192", "dtype=e4m3"}) > 50 * at_128);
  CHECK(per_sum({"k=128", "dtype=e4m3", "scale=block", "bias=1", "beta=1", "out=fp32"}) == at_128);
  // Operands stored wider than the class are granted their rounding.
  CHECK(per_sum({"k=128", "dtype=fp32", "precision=bf16", "bias=1"}) > 0x1p-7);
}

}  // namespace
}  // namespace cupilot
