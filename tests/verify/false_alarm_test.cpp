// Honest fp32 in any order of summation is never refused; what a lower class loses always is.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <cupilot/rng.hpp>
#include <functional>
#include <vector>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/sanitized.hpp"
#include "task/content.hpp"
#include "trusted/tracked.cuh"
#include "verify/shown.hpp"

namespace cupilot {
namespace {

using Values = std::vector<float>;

double normal(Rng& rng) { return rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2.0; }

struct Distribution {
  const char* name;
  float (*draw)(Rng&, std::size_t at);
};
const Distribution distributions[] = {
    {"normal", [](Rng& rng, std::size_t) { return static_cast<float>(normal(rng)); }},
    {"[0, 1)", [](Rng& rng, std::size_t) { return static_cast<float>(rng.unit()); }},
    {"[-1, 1)", [](Rng& rng, std::size_t) { return static_cast<float>(2 * rng.unit() - 1); }},
    {"log-normal",
     [](Rng& rng, std::size_t) { return static_cast<float>(std::exp(3 * normal(rng))); }},
    {"integers", [](Rng& rng, std::size_t) { return static_cast<float>(rng.below(16)); }},
    {"signs", [](Rng& rng, std::size_t) { return rng.chance(0.5) ? 1.0f : -1.0f; }},
    {"cancelling",
     [](Rng& rng, std::size_t at) {
       return static_cast<float>((at % 2 == 0 ? 1e4 : -1e4) * (1 + 1e-3 * rng.unit()));
     }},
    {"one huge",
     [](Rng& rng, std::size_t at) { return static_cast<float>(at == 7 ? 1e15 : normal(rng)); }},
    {"decaying",
     [](Rng& rng, std::size_t at) {
       return static_cast<float>(std::exp2(-static_cast<double>(at % 60)) * (1 + rng.unit()));
     }},
    {"around 1e6", [](Rng& rng, std::size_t) { return static_cast<float>(1e6 + normal(rng)); }},
};
constexpr std::size_t lengths[] = {1, 16, 100, 512, 2048, 8192};

float in_turn(const Values& x, std::size_t begin, std::size_t end, std::size_t step) {
  float sum = 0;
  for (std::size_t i = begin; i < end; i += step) sum += x[i];
  return sum;
}
float pairwise(const Values& x, std::size_t begin, std::size_t end) {
  if (end - begin <= 2) return in_turn(x, begin, end, 1);
  const std::size_t middle = begin + (end - begin) / 2;
  return pairwise(x, begin, middle) + pairwise(x, middle, end);
}
float strided(const Values& x, std::size_t parts) {
  Values sums;
  for (std::size_t p = 0; p < std::min(parts, x.size()); ++p)
    sums.push_back(in_turn(x, p, x.size(), parts));
  return pairwise(sums, 0, sums.size());
}
float blocked(const Values& x, std::size_t block) {
  float sum = 0;
  for (std::size_t i = 0; i < x.size(); i += block)
    sum += in_turn(x, i, std::min(i + block, x.size()), 1);
  return sum;
}

struct Order {
  const char* name;
  float (*sum)(const Values&);
};
const Order orders[] = {
    {"in turn", [](const Values& x) { return in_turn(x, 0, x.size(), 1); }},
    {"backwards",
     [](const Values& x) { return in_turn(Values(x.rbegin(), x.rend()), 0, x.size(), 1); }},
    {"pairwise", [](const Values& x) { return pairwise(x, 0, x.size()); }},
    {"two by two", [](const Values& x) { return strided(x, 2); }},
    {"four accumulators", [](const Values& x) { return strided(x, 4); }},
    {"a warp", [](const Values& x) { return strided(x, 32); }},
    {"blocks of 64", [](const Values& x) { return blocked(x, 64); }},
    {"blocks of 1000", [](const Values& x) { return blocked(x, 1000); }},
};

BoundParams bound_of(std::size_t length, Precision precision) {
  const Task task =
      *gemm_task({.m = 1, .n = 1, .k = static_cast<std::int64_t>(length), .precision = precision});
  return *bound_params(task, 2, task.time_shapes[0], {});
}

TEST_CASE("honest fp32 is never refused, whatever order, data and length") {
  Rng rng(17);
  for (const std::size_t length : lengths) {
    const BoundParams bound = bound_of(length, Precision::fp32_strict);
    for (const Distribution& distribution : distributions) {
      int refused = 0;
      double worst = 0;
      for (int element = 0; element < (testing::sanitized() ? 100 : 1000); ++element) {
        Values products(length);
        tracked want(0.0);
        for (std::size_t i = 0; i < length; ++i) {
          const float a = distribution.draw(rng, i), b = static_cast<float>(normal(rng));
          products[i] = a * b;
          want = want + tracked_term(a) * tracked_term(b);
        }
        for (const Order& order : orders) {
          const Judged judged =
              judge_element(bound, bits_of(order.sum(products)), want.value, sum_of(want));
          refused += judged.ok ? 0 : 1;
          worst = std::max(worst, judged.ratio);
        }
      }
      INFO(distribution.name << " length " << length << ": worst " << worst << " of the bound");
      CHECK(refused == 0);
    }
  }
}

float cut_tf32(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, 4);
  bits = (bits + 0x0FFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
  std::memcpy(&x, &bits, 4);
  return x;
}
float cut_to(float x, int type) { return static_cast<float>(decode(encode(x, type), type)); }
float to_bf16(float x) { return cut_to(x, storage_bf16); }
float to_fp16(float x) { return cut_to(x, storage_f16); }

// What an arithmetic makes of the products of a line; fp32 sums but where it says other.
struct Arithmetic {
  const char* name;
  std::function<float(float a, float b)> product;
  bool half_sums;
  bool strict, emulated;  // whether the contract's checks let it pass
};

float split_product(float a, float b, float (*cut)(float), int planes) {
  float pa[3] = {}, pb[3] = {};
  for (int p = 0; p < planes; ++p) {
    pa[p] = cut(a), pb[p] = cut(b);
    a -= pa[p], b -= pb[p];
  }
  float sum = 0;
  for (int i = planes - 1; i >= 0; --i) {
    for (int j = i; j >= 0; --j) sum += pa[j] * pb[i - j];
  }
  return sum;
}

struct Line {
  Values a, b;
};

// As probe content has them: one term, four terms, all.
Line line_of(Rng& rng, std::size_t length, int kind) {
  Line line{Values(length), Values(length)};
  for (float& b : line.b) b = static_cast<float>(normal(rng));
  for (std::size_t i = 0; kind == 2 && i < length; ++i) line.a[i] = static_cast<float>(normal(rng));
  for (int j = 0; j < (kind == 0 ? 1 : kind == 1 ? 4 : 0); ++j) {
    line.a[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(length)))] =
        kind == 0 ? 1.0f : static_cast<float>(normal(rng));
  }
  return line;
}

// As conclude judges: the bound, and values of one term.
bool passes(const Arithmetic& arithmetic, std::size_t length, Precision precision) {
  const Task task =
      *gemm_task({.m = 1, .n = 1, .k = static_cast<std::int64_t>(length), .precision = precision});
  const BoundParams bound = bound_of(length, precision);
  Rng rng(5);
  for (int element = 0; element < 60; ++element) {
    const Line line = line_of(rng, length, element % 3);
    tracked want(0.0);
    float sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
      want = want + tracked_term(line.a[i]) * tracked_term(line.b[i]);
      sum += arithmetic.product(line.a[i], line.b[i]);
      if (arithmetic.half_sums) sum = to_fp16(sum);
    }
    const auto bits = bits_of(sum);
    if (!judge_element(bound, bits, want.value, sum_of(want)).ok) return false;
    if (is_one_term(bound, want.value, sum_of(want)) &&
        one_term_error(bound, bits, want.value) > one_term_error_of(task))
      return false;
  }
  return true;
}

TEST_CASE("each arithmetic passes in its classes and in no better one, at every length") {
  const Arithmetic arithmetics[] = {
      {"fp32", [](float a, float b) { return a * b; }, false, true, true},
      {"bf16x6", [](float a, float b) { return split_product(a, b, to_bf16, 3); }, false, true,
       true},
      {"tf32x3", [](float a, float b) { return split_product(a, b, cut_tf32, 2); }, false, false,
       true},
      {"bf16x3", [](float a, float b) { return split_product(a, b, to_bf16, 2); }, false, false,
       false},
      {"tf32", [](float a, float b) { return cut_tf32(a) * cut_tf32(b); }, false, false, false},
      {"fp16", [](float a, float b) { return to_fp16(a) * to_fp16(b); }, false, false, false},
      {"bf16", [](float a, float b) { return to_bf16(a) * to_bf16(b); }, false, false, false},
      {"fp16 sums", [](float a, float b) { return a * b; }, true, false, false},
  };
  for (const Arithmetic& arithmetic : arithmetics) {
    for (const std::size_t length : lengths) {
      if (length == 1) continue;  // four terms need room
      INFO(arithmetic.name << " length " << length);
      CHECK(passes(arithmetic, length, Precision::fp32_strict) == arithmetic.strict);
      CHECK(passes(arithmetic, length, Precision::fp32_emulated) == arithmetic.emulated);
    }
  }
}

}  // namespace
}  // namespace cupilot
