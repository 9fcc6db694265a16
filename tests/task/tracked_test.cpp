// A condition sum must cover what one roundoff in an operand does to the value.
#include "trusted/tracked.cuh"

#include <cmath>
#include <cupilot/rng.hpp>
#include <functional>

#include "catch.hpp"
#include "trusted/tree.cuh"

namespace cupilot {
namespace {

TEST_CASE("the sum covers the effect of a relative perturbation of the operands") {
  struct Case {
    const char* name;
    std::function<tracked(tracked, tracked)> tracked_form;
    std::function<double(double, double)> plain_form;
    double low, high;
  };
#define FORM(name, low, high, text)                                             \
  Case {                                                                        \
    name, [](tracked a, tracked b) { return tracked(text); },                   \
        [](double a, double b) { return static_cast<double>(text); }, low, high \
  }
  const Case c = GENERATE(from_range(std::vector<Case>{
      FORM("add", -2, 2, a + b),
      FORM("subtract", -2, 2, a - b),
      FORM("multiply", -2, 2, a * b),
      FORM("divide", 0.5, 2, a / b),
      FORM("negate", -2, 2, -a + b * 0.0),
      FORM("exp", -20, 20, exp_(a) + b * 0.0),
      FORM("log", 0.1, 20, log_(a) + b * 0.0),
      FORM("tanh", -3, 3, tanh_(a) + b * 0.0),
      FORM("erf", -3, 3, erf_(a) + b * 0.0),
      FORM("sqrt", 0.01, 9, sqrt_(a) + b * 0.0),
      FORM("abs", -2, 2, abs_(a) + b * 0.0),
      FORM("max", -2, 2, max_(a, b)),
      FORM("min", -2, 2, min_(a, b)),
      FORM("cancellation", 1, 2, (a + b) - (b + a)),
      FORM("sigmoid of a product", -4, 4, a / (exp_(-a * b) + 1.0)),
      FORM("difference of exponentials", -4, 4, exp_(a - b) / (exp_(a - b) + exp_(b - a))),
  }));
#undef FORM
  Rng rng(3);
  const double unit = 1e-7;
  for (int i = 0; i < 500; ++i) {
    const double a = c.low + (c.high - c.low) * rng.unit(),
                 b = c.low + (c.high - c.low) * rng.unit();
    const tracked want = c.tracked_form(a, b);
    const double same = c.plain_form(a, b);
    REQUIRE(want.value == same);
    REQUIRE(want.sum >= std::abs(want.value) * (1 - 1e-12));
    for (const double da : {-unit, unit}) {
      for (const double db : {-unit, unit}) {
        const double moved = c.plain_form(a * (1 + da), b * (1 + db));
        // The sum counts every operand's factor once, a product of two sums covers both.
        if (!(std::abs(moved - same) <= 2.0 * unit * want.sum + 1e-13))
          FAIL(c.name << " a=" << a << " b=" << b);
      }
    }
  }
}

TEST_CASE("a flat place of a curve owes what a large error makes of it") {
  const auto moves = [](const char* name, double (*plain)(double), tracked (*form)(tracked)) {
    Rng rng(5);
    for (int i = 0; i < 500; ++i) {
      const double value = -8 + 16 * rng.unit(), sum = std::exp2(14 * rng.unit());
      const double unit = std::exp2(-8 - 8 * rng.unit());
      const tracked want = form(tracked(value, std::max(sum, std::abs(value))));
      for (const double error : {-unit * sum, unit * sum}) {
        const double moved = std::abs(plain(value + error) - plain(value));
        if (!(moved <= 1.2 * unit * want.sum + 1e-13))
          FAIL(name << " value=" << value << " sum=" << sum << " error=" << error);
      }
    }
  };
  moves(
      "tanh", [](double x) { return tanh_(x); }, [](tracked x) { return tanh_(x); });
  moves(
      "erf", [](double x) { return erf_(x); }, [](tracked x) { return erf_(x); });
}

TEST_CASE("square root at zero keeps a finite sum") {
  const tracked x = sqrt_(tracked(0.0, 4.0));
  CHECK(x.value == 0.0);
  CHECK(x.sum == 2.0);
  CHECK(sqrt_(tracked(0.0)).sum == 0.0);
}

TEST_CASE("one unrounded term is told from a sum") {
  const tracked x(3.0), zero(0.0);
  const auto is_one_term = [](tracked t) { return -sum_of(t) == std::abs(t.value); };
  CHECK(is_one_term(zero + tracked_term(3.0) * tracked_term(-1.0) + zero));
  CHECK(is_one_term(x * tracked(2.0)));
  CHECK(is_one_term(max_(x, zero) - zero));
  CHECK_FALSE(is_one_term(x + tracked(1.0)));
  CHECK_FALSE(is_one_term((x + tracked(1e-6)) * tracked(2.0)));
  CHECK_FALSE(is_one_term(x / tracked(2.0)));
  CHECK_FALSE(is_one_term(tanh_(tracked(40.0))));
  CHECK_FALSE(is_one_term(sqrt_(tracked(4.0))));
}

TEST_CASE("a product of elements is that of the same numbers with sums of their own") {
  const double values[] = {0.0,  -0.0,  1.5,      -3.0,      0x1p-149,
                           3e38, -1e30, HUGE_VAL, -HUGE_VAL, std::nan("")};
  const auto bits = [](double x) { return std::isnan(x) ? 1 : cupilot::bits_of(x); };
  for (const double a : values) {
    for (const double b : values) {
      CAPTURE(a, b);
      const tracked quick = tracked(tracked_term(a)) * tracked(tracked_term(b));
      const tracked general = tracked(a, own_sum(a)) * tracked(b, own_sum(b));
      CHECK(bits(quick.value) == bits(general.value));
      CHECK(bits(quick.sum) == bits(general.sum));
      CHECK(quick.exact == general.exact);
    }
  }
}

// An fp32 kernel may make 26 of 0.4 times 65, or a number beside it.
TEST_CASE("only elements and whole numbers make exact integers") {
  const tracked element(tracked_term(65));
  CHECK(sum_of(tracked(3.0) * element) < 0);
  CHECK(sum_of(tracked(0.0) + element) < 0);
  CHECK(sum_of(tracked(0.4) * element) > 0);
  CHECK(sum_of(element + tracked(0.5)) > 0);
}

TEST_CASE("comparisons look at values") {
  CHECK(tracked(1.0, 9.0) < tracked(2.0, 3.0));
  CHECK(tracked(1.0, 9.0) == tracked(1.0, 1.0));
  CHECK(max_(tracked(1.0, 9.0), tracked(2.0, 3.0)).sum == 9.0);
}

TEST_CASE("a choice owes nothing to a term that is infinite by arithmetic") {
  const double infinity = HUGE_VAL;
  const tracked lost = tracked(tracked_term(-infinity)) * tracked(tracked_term(2.0));
  const tracked kept = tracked(3.0) * tracked(tracked_term(0.3));
  REQUIRE(lost.value == -infinity);
  for (const tracked chosen : {max_(lost, kept), max_(kept, lost), maxn_(lost, kept),
                               min_(-lost, kept), minn_(kept, -lost)}) {
    CHECK(chosen.value == kept.value);
    CHECK(chosen.sum == kept.sum);
  }
  CHECK(max_(tracked(1.0, 5.0), tracked(2.0, 3.0)).sum == 5.0);  // else either may be chosen
  CHECK(max_(tracked(0.0, 5.0), tracked(2.0, 3.0)).sum == 5.0);
}

TEST_CASE("a choice owes nothing to a number far below or above that it began with") {
  const tracked kept = tracked(3.0) * tracked(tracked_term(0.3));
  for (const double far : {1e4, 1e30, 3.4e38}) {
    const tracked lowest(-far), largest(far);
    for (const tracked chosen :
         {max_(lowest, kept), maxn_(kept, lowest), min_(largest, kept), minn_(kept, largest)}) {
      CHECK(chosen.value == kept.value);
      CHECK(chosen.sum == kept.sum);
    }
    // A zero that is chosen need not be kept bit by bit.
    CHECK(max_(lowest, tracked(0.0)).sum > 0.0);
    CHECK(max_(lowest, tracked(0.0)).sum < 1e-200);
  }
  CHECK(max_(tracked(-1.0, 4000.0), tracked(2.0, 3.0)).sum == 4000.0);  // near what it may be
}

TEST_CASE("what is infinite on the way has no rounding", "[tracked]") {
  // A sigmoid of a large negative: its divisor is infinite.
  const tracked flat = tracked(1.0) / (tracked(1.0) + exp_(-tracked(tracked_term(-1e15))));
  CHECK(flat.value == 0.0);
  CHECK(flat.sum == 0.0);
  // An infinity that a factor of exactly 1 let through: these tests are of a class that may split
  // it.
  const tracked open = tracked(1.0) / (tracked(1.0) + exp_(-tracked(tracked_term(1e15))));
  const tracked far = open * tracked(tracked_term(HUGE_VAL));
  CHECK(far.value == HUGE_VAL);
  CHECK(far.sum != 0.0);
  CHECK(std::isnan((tracked(tracked_term(HUGE_VAL)) / tracked(tracked_term(HUGE_VAL))).sum));
}

// These tests are of a class that may split operands.
TEST_CASE("an infinite product that vanishes leaves the sums of the others", "[tracked]") {
  const tracked gone = tracked(tracked_term(-HUGE_VAL)) * tracked(tracked_term(2.0));
  const tracked scaled = gone * tracked(0.125, 0.125, false) + tracked(tracked_term(3.0));
  const tracked other(1.0, 5.0, false);
  const tracked weight = exp_(scaled - maxn_(scaled, other));
  CHECK(weight.value == 0.0);
  const tracked whole = weight + exp_(other - other);
  const tracked row =
      weight / whole * tracked(tracked_term(7.0)) + other / whole * tracked(tracked_term(3.0));
  CHECK(row.value == Approx(3.0));
  CHECK(row.sum > 15.0);
  CHECK(row.sum < 100.0);
  CHECK(row.maybe_nan);
  CHECK(std::isnan(sum_of(row)));
  CHECK(kept_of_nan(sum_of(row)) == Approx(row.sum));
  CHECK(cupilot::restored(cupilot::stored(row)).sum == Approx(row.sum));
  CHECK(cupilot::restored(cupilot::stored(row)).maybe_nan);
  const tracked quotient = other / gone;
  CHECK((quotient.maybe_nan && quotient.value == 0.0));
  for (const double element : {HUGE_VAL, -HUGE_VAL}) {  // no product
    CHECK_FALSE(exp_(-maxn_(tracked(tracked_term(element)), other)).maybe_nan);
    CHECK_FALSE((other / tracked(tracked_term(element))).maybe_nan);
  }
  CHECK((-row).maybe_nan);
  CHECK(sign_(row).maybe_nan);
  // Arithmetic's own infinities are no products.
  const tracked far = exp_(-tracked(tracked_term(-1e15)));
  CHECK((far.value == HUGE_VAL && far.sum == 0.0));
  CHECK_FALSE((tracked(1.0) / (tracked(1.0) + far)).maybe_nan);
  CHECK_FALSE((tracked(tracked_term(-800.0)) / (tracked(1.0) + exp_(tracked(tracked_term(800.0)))))
                  .maybe_nan);
  CHECK_FALSE((tracked(1.0) / (tracked(1.0) / tracked(0.0))).maybe_nan);
  CHECK_FALSE(std::isfinite(kept_of_nan(std::nan(""))));
  CHECK_FALSE(max_(gone, other).maybe_nan);  // a NaN is no choice of it
  CHECK(maxn_(gone, other).maybe_nan);
}

TEST_CASE("a sum beyond any number does not pass for a value that came through NaN", "[tracked]") {
  // exp of what a silu of -709 is divided by is a number, its condition sum is none.
  for (const double x : {-700.0, -705.0, -708.0, -709.5, -709.78, -710.0, -1e4}) {
    INFO(x);
    const tracked at(x, 3 * std::fabs(x), false);
    const tracked silu = at / (tracked(1.0) + exp_(-at));
    tracked sum(12147.0, 30000.0, false);
    for (int i = 0; i < 200; ++i) sum += silu * tracked(tracked_term(i % 2 == 0 ? 0.5 : 0.0));
    CHECK(std::isfinite(silu.sum));
    CHECK(sum.sum == Approx(30000.0));
    CHECK(max_(tracked(0.0), sum).sum == Approx(30000.0));
  }
  const tracked nan(std::nan(""));
  CHECK(std::isnan((nan * tracked(2.0)).sum));
  CHECK(std::isnan(exp_(nan).sum));
  CHECK(std::isfinite((tracked(1e200, 1e250, false) * tracked(1e100, 1e250, false)).sum));
}

TEST_CASE("a selected value owes what it owed") {
  const tracked moved(1.0, 9.0, false);
  CHECK(select_(true, moved, tracked(2.0)).sum == 9.0);
  CHECK(select_(false, moved, tracked(2.0)).value == 2.0);
  CHECK(sum_of(select_(true, tracked_term(0.3), tracked(2.0))) == -0.3);  // an element as it is
  CHECK(std::isnan(select_(true, std::nan(""), 1.0)));
  CHECK(select_(false, 1.0f, 2.0f) == 2.0f);
}

TEST_CASE("bits are those of fp32, whatever the build") {
  struct Row {
    double value;
    long long bits;
  };
  for (const Row& row :
       {Row{1.0, 0x3F800000}, Row{-0.0, 0x80000000}, Row{0.1, 0x3DCCCCCD},
        Row{HUGE_VAL, 0x7F800000}, Row{std::nan(""), 0x7FC00000}, Row{0x1.0p-149, 1}}) {
    INFO(row.value);
    CHECK(bits_(row.value) == row.bits);
    CHECK(bits_(static_cast<float>(row.value)) == row.bits);
    CHECK(bits_(tracked(row.value)) == row.bits);
    CHECK(bits_(tracked_term(row.value)) == row.bits);
    CHECK(bits_(from_bits_(row.bits)) == row.bits);
  }
}

}  // namespace
}  // namespace cupilot
