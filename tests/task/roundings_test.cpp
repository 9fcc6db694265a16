// Arithmetic in 16 bits may lose no more than the roundings that are counted for it.
#include <cmath>
#include <cupilot/rng.hpp>
#include <vector>

#include "catch.hpp"
#include "trusted/tracked.cuh"

namespace cupilot {
namespace {

double rounded(double x, int type) { return decode(encode(x, type), type); }

// A number of a type, rounded after each operation.
struct Narrow {
  double value;
  int type;
};
Narrow number(double x, int type) { return {rounded(x, type), type}; }
Narrow operator+(Narrow a, Narrow b) { return number(a.value + b.value, a.type); }
Narrow operator-(Narrow a, Narrow b) { return number(a.value - b.value, a.type); }
Narrow operator*(Narrow a, Narrow b) { return number(a.value * b.value, a.type); }
Narrow operator/(Narrow a, Narrow b) { return number(a.value / b.value, a.type); }
Narrow operator-(Narrow a) { return {-a.value, a.type}; }
Narrow exp_(Narrow x) { return number(std::exp(x.value), x.type); }
Narrow tanh_(Narrow x) { return number(std::tanh(x.value), x.type); }
Narrow sqrt_(Narrow x) { return number(std::sqrt(x.value), x.type); }
Narrow max_(Narrow a, Narrow b) { return a.value > b.value ? a : b; }
Narrow fused(Narrow a, Narrow b, Narrow c) { return number(a.value * b.value + c.value, a.type); }

double roundoff_of(int type) { return type == storage_f16 ? 0x1p-11 : 0x1p-8; }

// The error as a part of the bound.
double part(Narrow got, tracked want) {
  const double unit = roundoff_of(got.type);
  const double tiny = got.type == storage_f16 ? 0x1p-24 : 0x1p-120;
  const double bound =
      units_of(want.rounded, unit) * unit * want.sum + unit * std::abs(want.value) + tiny;
  return std::abs(got.value - want.value) / bound;
}

// Factors of a term: places of inputs.
using Term = std::vector<std::size_t>;

// Adds two drawn ones of a list until one is left.
Narrow in_any_order(std::vector<Narrow> all, Rng& rng) {
  const auto take = [&] {
    const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())));
    const Narrow one = all[at];
    all.erase(all.begin() + static_cast<long>(at));
    return one;
  };
  while (all.size() > 1) {
    const Narrow a = take(), b = take();
    all.push_back(a + b);
  }
  return all.front();
}

Narrow product_in_any_order(const Term& term, const std::vector<Narrow>& inputs, Rng& rng) {
  Term left = term;
  Narrow out = inputs[left.back()];
  left.pop_back();
  while (!left.empty()) {
    const auto at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(left.size())));
    out = out * inputs[left[at]];
    left.erase(left.begin() + static_cast<long>(at));
  }
  return out;
}

// One term after the other, the last product of each fused with what is there.
Narrow fused_in_turn(const std::vector<Term>& terms, const std::vector<Narrow>& inputs, Rng& rng) {
  Narrow sum = product_in_any_order(terms[0], inputs, rng);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Term rest = terms[i];
    const Narrow last = inputs[rest.back()];
    rest.pop_back();
    sum = rest.empty() ? sum + last : fused(product_in_any_order(rest, inputs, rng), last, sum);
  }
  return sum;
}

TEST_CASE("sums of products in 16 bits keep their bound in any order", "[roundings]") {
  const int type = GENERATE(storage_f16, storage_bf16);
  Rng rng(37);
  double worst = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    std::vector<Narrow> inputs;
    for (int i = 0; i < 6; ++i) inputs.push_back(number(4 * rng.unit() - 2, type));
    std::vector<Term> terms(1 + static_cast<std::size_t>(rng.below(5)));
    tracked want = 0.0;
    std::vector<Narrow> products;
    double exact = 0;
    for (Term& term : terms) {
      for (std::int64_t left = 1 + rng.below(4); left > 0; --left)
        term.push_back(static_cast<std::size_t>(rng.below(6)));
      tracked product = tracked(tracked_term(inputs[term[0]].value));
      for (std::size_t i = 1; i < term.size(); ++i)
        product = product * tracked(tracked_term(inputs[term[i]].value));
      want = &term == &terms[0] ? product : want + product;
      exact += product.value;
      products.push_back(product_in_any_order(term, inputs, rng));
    }
    for (const Narrow got : {in_any_order(products, rng), fused_in_turn(terms, inputs, rng),
                             number(static_cast<float>(exact), type)}) {
      worst = std::max(worst, part(got, want));
      if (part(got, want) > 1) FAIL("draw " << draw << ": " << part(got, want));
    }
  }
  CHECK(worst > 0.5);
}

// One text for the reference and for a kernel that rounds after each operation.
template <class T>
T form_of(int form, T a, T b, T c, T half, T one) {
  switch (form) {
    case 0:
      return (a * b + half) * a + b;
    case 1:
      return a / (one + exp_(-a));
    case 2:
      return half * a * (one + tanh_(half * (a + half * a * a * a)));
    case 3:
      return sqrt_(a * a + b * b + c * c);
    case 4:
      return max_(a * b, c) - a;
    case 5:
      return (a + b) * (b + c) * (c + a);
    case 6:
      return ((a * a) * (a * a)) * ((a * a) * (a * a));
    default:
      return (a - b) / (a * a + one);
  }
}

TEST_CASE("forms in 16 bits keep their bound", "[roundings]") {
  const int type = GENERATE(storage_f16, storage_bf16);
  const int form = GENERATE(range(0, 8));
  Rng rng(41);
  double worst = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    const Narrow a = number(2 * rng.unit() - 1, type), b = number(2 * rng.unit() - 1, type),
                 c = number(2 * rng.unit() - 1, type);
    const auto exact = [](Narrow x) { return tracked(tracked_term(x.value)); };
    const tracked want = form_of(form, exact(a), exact(b), exact(c), tracked(0.5), tracked(1.0));
    const Narrow got = form_of(form, a, b, c, number(0.5, type), number(1.0, type));
    worst = std::max(worst, part(got, want));
    if (part(got, want) > 1) FAIL("form " << form << ": " << part(got, want));
  }
  CHECK(worst > 0.05);
}

// Kernels may factor out what a reference expands, and expand what it factors out.
TEST_CASE("quotients in 16 bits by a rounded reciprocal keep their bound", "[roundings]") {
  const int type = GENERATE(storage_f16, storage_bf16);
  Rng rng(47);
  double worst = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    const Narrow a = number(2 * rng.unit() - 1, type), b = number(2 * rng.unit() - 1, type),
                 c = number(1 + static_cast<double>(rng.below(16)), type), one = number(1, type);
    const auto exact = [](Narrow x) { return tracked(tracked_term(x.value)); };
    for (const double found : {part(a * (one / c), exact(a) / tracked(c.value)),
                               part((a + b) * (one / c), (exact(a) + exact(b)) / exact(c))}) {
      worst = std::max(worst, found);
      if (found > 1) FAIL("draw " << draw << ": " << found);
    }
  }
  CHECK(worst > 0.5);
}

TEST_CASE("other forms of a polynomial in 16 bits keep its bound", "[roundings]") {
  const int type = GENERATE(storage_f16, storage_bf16);
  Rng rng(43);
  for (int draw = 0; draw < 20000; ++draw) {
    const auto drawn = [&] { return number(2 * rng.unit() - 1, type); };
    const Narrow x = drawn(), a = drawn(), b = drawn(), c = drawn(), d = drawn();
    const Narrow horner = ((a * x + b) * x + c) * x + d, xx = x * x,
                 expanded = in_any_order({a * x * x * x, b * xx, c * x, d}, rng),
                 paired = (a * x + b) * xx + (c * x + d),
                 fma = fused(fused(fused(a, x, b), x, c), x, d);
    const auto exact = [](Narrow one) { return tracked(tracked_term(one.value)); };
    const tracked X = exact(x), A = exact(a), B = exact(b), C = exact(c), D = exact(d);
    for (const tracked& want :
         {((A * X + B) * X + C) * X + D, A * X * X * X + B * (X * X) + C * X + D,
          (A * X + B) * (X * X) + (C * X + D)}) {
      for (const Narrow got : {horner, expanded, paired, fma})
        if (part(got, want) > 1) FAIL("draw " << draw << ": " << part(got, want));
    }
  }
}

TEST_CASE("roundings are counted by operations", "[roundings]") {
  const tracked a = tracked(tracked_term(0.75)), b = tracked(tracked_term(0.25));
  const auto count = [](tracked x) { return all_of(x.rounded); };
  CHECK(count(a) == 0);
  CHECK(count(tracked(3.0)) == 0);
  CHECK(count(tracked(0.3)) == 1);
  CHECK(count(tracked_term(0.75) * tracked_term(0.25)) == 1);
  CHECK(count(a * b + a) == 2);
  CHECK(count((a * b + 0.5) * a + b) == 4);
  CHECK(count((a + b) * (a + b)) == 4);
  CHECK(count(-a / b) == 2);
  CHECK(count(max_(a * b, a)) == 1);
  CHECK(count(exp_(a)) == 4);
  CHECK(units_of({1, 0}, 0x1p-8) == 0);
  CHECK(units_of({1, 1}, 0x1p-8) == 0);
  CHECK(units_of({3, 2}, 0x1p-8) == Approx(3 / (1 - 4 * 0x1p-8)));
}

}  // namespace
}  // namespace cupilot
