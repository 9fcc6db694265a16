// The gemm reference against independent arithmetic on the host, and its three builds against one
// another.
#include <array>
#include <cmath>
#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "task/host_gemm.hpp"

namespace cupilot {
namespace {

using namespace host_gemm;

// op(A)[row][p] and op(B)[p][column] of one batch, gathered by the layout's definition.
struct Dense {
  std::vector<std::vector<double>> a, b;
};
Dense gather(const Problem& p, long long batch, bool trans_a, bool trans_b) {
  const long long m = p.size("m"), n = p.size("n"), k = p.size("k");
  Dense out{std::vector(m, std::vector<double>(k)), std::vector(k, std::vector<double>(n))};
  for (long long q = 0; q < k; ++q) {
    for (long long i = 0; i < m; ++i)
      out.a[i][q] = p.at("A", batch * m * k + (trans_a ? q * m + i : i * k + q));
    for (long long j = 0; j < n; ++j)
      out.b[q][j] = p.at("B", batch * k * n + (trans_b ? j * k + q : q * n + j));
  }
  return out;
}

TEST_CASE("sampled rows agree with a double loop, in every layout and batch") {
  struct Case {
    const char* layout;
    double (*reference)(const HostInputs<double>&, long long);
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"nn",
       [](const HostInputs<double>& in, long long i) { return nn_double::reference_D(in, i); }},
      {"tn",
       [](const HostInputs<double>& in, long long i) { return tn_double::reference_D(in, i); }},
      {"nt",
       [](const HostInputs<double>& in, long long i) { return nt_double::reference_D(in, i); }},
  }));
  const Problem p({.m = 19, .n = 23, .k = 29, .batch = 3, .layout = c.layout}, {.seed = 4});
  const HostInputs<double> in{p};
  Rng rng(1);
  for (long long batch = 0; batch < 3; ++batch) {
    const Dense dense = gather(p, batch, c.layout[0] == 't', c.layout[1] == 't');
    for (int sample = 0; sample < 5; ++sample) {
      const long long row = rng.below(19);
      for (long long j = 0; j < 23; ++j) {
        double want = 0;
        for (long long q = 0; q < 29; ++q) want += dense.a[row][q] * dense.b[q][j];
        CHECK(c.reference(in, (batch * 19 + row) * 23 + j) == want);
      }
    }
  }
}

TEST_CASE("a random-vector product agrees with the whole result") {
  const Problem p({.m = 60, .n = 70, .k = 50}, {.seed = 8});
  const HostInputs<double> in{p};
  const Dense dense = gather(p, 0, false, false);
  Rng rng(2);
  for (int round = 0; round < 3; ++round) {
    std::vector<double> x(70), bx(50, 0.0);
    for (double& v : x) v = rng.chance(0.5) ? 1.0 : -1.0;
    for (std::size_t q = 0; q < 50; ++q) {
      for (std::size_t j = 0; j < 70; ++j) bx[q] += dense.b[q][j] * x[j];
    }
    for (long long i = 0; i < 60; ++i) {
      double left = 0, right = 0;
      for (long long j = 0; j < 70; ++j) left += nn_double::reference_D(in, i * 70 + j) * x[j];
      for (std::size_t q = 0; q < 50; ++q) right += dense.a[i][q] * bx[q];
      CHECK(std::abs(left - right) < 1e-10);
    }
  }
}

TEST_CASE("the whole epilogue is the formula") {
  GemmSpec spec{.m = 7,
                .n = 9,
                .k = 11,
                .batch = 2,
                .layout = "tt",
                .alpha = 0.5,
                .beta = -2,
                .bias = true,
                .act = Activation::gelu};
  const Problem p(spec, {.seed = 5});
  const HostInputs<double> in{p};
  for (long long batch = 0; batch < 2; ++batch) {
    const Dense dense = gather(p, batch, true, true);
    for (long long i = 0; i < 7; ++i) {
      for (long long j = 0; j < 9; ++j) {
        double x = 0;
        for (long long q = 0; q < 11; ++q) x += dense.a[i][q] * dense.b[q][j];
        const long long index = (batch * 7 + i) * 9 + j;
        x = 0.5 * x - 2.0 * p.at("C", index) + p.at("bias", j);
        CHECK(tt_gelu_double::reference_D(in, index) ==
              Approx(0.5 * x * std::erfc(-x / std::sqrt(2.0))).margin(1e-14));
      }
    }
  }
}

TEST_CASE("the tracked build has the oracle's values and the sum of magnitudes") {
  const Problem p({.m = 9, .n = 8, .k = 33}, {.seed = 6});
  const HostInputs<double> in{p};
  const HostInputs<tracked> tracked_in{p};
  for (long long index = 0; index < p.outputs(); ++index) {
    const tracked got = nn_tracked::reference_D(tracked_in, index);
    CHECK(got.value == nn_double::reference_D(in, index));
    double sum = 0;
    for (long long q = 0; q < 33; ++q)
      sum += std::abs(in.A(index / 8 * 33 + q)) * std::abs(in.B(q * 8 + index % 8));
    // A trace above the magnitudes says that terms were added.
    CHECK(got.sum == Approx(sum).epsilon(1e-8));
  }
}

// What became of all outputs of one build under the task's own bound.
struct Tally {
  long long failed = 0;
  double worst = 0;
};
template <class Value, class Tracked>
Tally tally(const Problem& p, Value value, Tracked reference) {
  const std::size_t out = p.task.tensors.size() - 1;
  const BoundParams bound = *bound_params(p.task, out, p.shape, {});
  Tally t;
  for (long long index = 0; index < p.outputs(); ++index) {
    const tracked want = reference(index);
    const Judged judged =
        judge_element(bound, encode(value(index), bound.type), want.value, want.sum);
    t.failed += judged.ok ? 0 : 1;
    t.worst = std::max(t.worst, judged.ratio);
  }
  return t;
}

TEST_CASE("the plain build stays within the bound for every content") {
  const ContentKind kind =
      GENERATE(ContentKind::ordinary, ContentKind::probe, ContentKind::zeros,
               ContentKind::huge_element, ContentKind::alternating, ContentKind::special);
  const long long k = GENERATE(1, 7, 64, 700);
  INFO(static_cast<int>(kind) << " k=" << k);
  const Problem p({.m = 24, .n = 20, .k = k}, {.seed = 7, .kind = kind});
  const HostInputs<float> in{p};
  const HostInputs<tracked> tracked_in{p};
  const Tally plain = tally(
      p, [&](long long i) { return static_cast<double>(nn_float::reference_D(in, i)); },
      [&](long long i) { return nn_tracked::reference_D(tracked_in, i); });
  CHECK(plain.failed == 0);
  CHECK(plain.worst < 0.7);

  const Problem full({.m = 24,
                      .n = 20,
                      .k = k,
                      .layout = "tt",
                      .alpha = 2.5,
                      .beta = 1,
                      .bias = true,
                      .act = Activation::gelu},
                     {.seed = 7, .kind = kind});
  const HostInputs<float> full_in{full};
  const HostInputs<tracked> full_tracked{full};
  const Tally gelu = tally(
      full,
      [&](long long i) { return static_cast<double>(tt_gelu_float::reference_D(full_in, i)); },
      [&](long long i) { return tt_gelu_tracked::reference_D(full_tracked, i); });
  CHECK(gelu.failed == 0);

  const Problem silu({.m = 24, .n = 20, .k = k, .act = Activation::silu},
                     {.seed = 7, .kind = kind});
  const HostInputs<float> silu_in{silu};
  const HostInputs<tracked> silu_tracked{silu};
  const Tally sigmoid = tally(
      silu,
      [&](long long i) { return static_cast<double>(nn_silu_float::reference_D(silu_in, i)); },
      [&](long long i) { return nn_silu_tracked::reference_D(silu_tracked, i); });
  CHECK(sigmoid.failed == 0);
}

// fp32 with its low significand bits cut off: what a tensor core sees of a tf32 (13 bits) or bf16
// (16 bits) operand.
double cut(double x, int bits) { return float_of(bits_of(static_cast<float>(x)) >> bits << bits); }

TEST_CASE("wrong arithmetic is caught under the strict contract") {
  const Problem p({.m = 32, .n = 32, .k = 48}, {.seed = 11, .kind = ContentKind::probe});
  const HostInputs<double> in{p};
  const HostInputs<tracked> tracked_in{p};
  const auto reference = [&](long long i) { return nn_tracked::reference_D(tracked_in, i); };
  const auto product = [&](long long i, int a_bits, int b_bits, long long terms) {
    double sum = 0;
    for (long long q = 0; q < terms; ++q)
      sum += cut(in.A(i / 32 * 48 + q), a_bits) * cut(in.B(q * 32 + i % 32), b_bits);
    return sum;
  };
  CHECK(tally(
            p, [&](long long i) { return product(i, 0, 0, 48); }, reference)
            .failed == 0);
  CHECK(tally(
            p, [&](long long i) { return product(i, 13, 0, 48); }, reference)
            .failed > 300);  // A in tf32
  CHECK(tally(
            p, [&](long long i) { return product(i, 0, 13, 48); }, reference)
            .failed > 300);  // B in tf32
  CHECK(tally(
            p, [&](long long i) { return product(i, 16, 16, 48); }, reference)
            .failed > 300);
  CHECK(tally(
            p, [&](long long i) { return product(i, 0, 0, 47); }, reference)
            .failed > 250);
  CHECK(tally(
            p, [&](long long) { return 0.0; }, reference)
            .failed > 700);
  CHECK(tally(
            p, [&](long long) { return std::nan(""); }, reference)
            .failed == 1024);
  CHECK(tally(
            p, [&](long long i) { return in.A(i % 1000); }, reference)
            .failed > 900);
  // Half-precision accumulation.
  CHECK(tally(
            p,
            [&](long long i) {
              double sum = 0;
              for (long long q = 0; q < 48; ++q) {
                sum =
                    decode(encode(sum + in.A(i / 32 * 48 + q) * in.B(q * 32 + i % 32), storage_f16),
                           storage_f16);
              }
              return sum;
            },
            reference)
            .failed > 300);
}

// How an H200's mma.sync adds (facts/h200.md): products and accumulator aligned to the largest
// exponent, cut to 25 fraction bits below it, added exactly, the result cut to fp32.
double mma_step(double accumulator, const std::vector<double>& products) {
  int top = accumulator == 0.0 ? -1000 : std::ilogb(accumulator);
  for (const double x : products) top = std::max(top, x == 0.0 ? -1000 : std::ilogb(x));
  const double quantum = std::ldexp(1.0, top - 25);
  double sum = std::trunc(accumulator / quantum);
  for (const double x : products) sum += std::trunc(x / quantum);
  sum *= quantum;
  if (sum == 0.0) return 0.0;
  const double place = std::ldexp(1.0, std::ilogb(sum) - 23);
  return std::trunc(sum / place) * place;
}

TEST_CASE("tensor cores' truncation passes in their own class and not in the strict one") {
  struct Case {
    DType type;
    Precision precision;
    int step, cut_bits;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{{DType::bf16, Precision::bf16, 16, 0},
                                                       {DType::bf16, Precision::bf16, 8, 0},
                                                       {DType::f16, Precision::fp16, 16, 0},
                                                       {DType::f32, Precision::tf32, 8, 13},
                                                       {DType::f32, Precision::tf32, 4, 13}}));
  const bool positive = GENERATE(true, false);
  INFO(name_of(c.precision) << " step " << c.step << (positive ? " positive" : " normal"));
  const long long k = 4096;
  const Problem p(
      {.m = 4, .n = 4, .k = k, .dtype = c.type, .out = DType::f32, .precision = c.precision},
      {.seed = 3});
  const HostInputs<double> in{p};
  const auto operand = [&](double x) { return cut(positive ? std::abs(x) : x, c.cut_bits); };
  const auto exact = [&](long long i) {
    tracked sum;
    for (long long q = 0; q < k; ++q) {
      const double a = in.A(i / 4 * k + q), b = in.B(q * 4 + i % 4);
      sum += tracked(positive ? std::abs(a) : a) * tracked(positive ? std::abs(b) : b);
    }
    return sum;
  };
  const auto tensor_core = [&](long long i) {
    double sum = 0;
    for (long long q = 0; q < k; q += c.step) {
      std::vector<double> products;
      for (long long j = q; j < q + c.step; ++j)
        products.push_back(operand(in.A(i / 4 * k + j)) * operand(in.B(j * 4 + i % 4)));
      sum = mma_step(sum, products);
    }
    return sum;
  };
  const Tally own = tally(p, tensor_core, exact);
  CHECK(own.failed == 0);
  CHECK(own.worst < 0.8);
  if (!positive || c.type != DType::f32) return;
  Problem strict = p;
  strict.task.precision = Precision::fp32_strict;
  CHECK(tally(strict, tensor_core, exact).failed == 16);
}

}  // namespace
}  // namespace cupilot
