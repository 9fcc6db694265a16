#include <cmath>

#include <cupilot/rng.hpp>
#include <cupilot/wisdom.hpp>

#include "catch.hpp"

using namespace cupilot;

namespace {

using Times = std::vector<std::vector<double>>;

struct Row {
  const char* what;
  Times times;
  std::vector<double> weights;
  int keep;
  double goal;
  std::vector<int> kernels;
  double regret;
};

const Row rows[] = {
    {"one kernel for one shape", {{5}}, {1}, 0, 0, {0}, 0},
    {"the specialists where no loss is allowed", {{1, 4}, {4, 1}, {2, 2}}, {1, 1}, 0, 0, {0, 1}, 0},
    {"the generalist where one may stay", {{1, 4}, {4, 1}, {2, 2}}, {1, 1}, 1, 0, {2}, 1},
    {"no more than the goal needs", {{1, 1.01}, {1.5, 1}}, {1, 1}, 0, 0.02, {0}, 0.005},
    {"weights decide", {{1, 4}, {4, 1}}, {10, 1}, 1, 0, {0}, 3.0 / 11},
    {"a kernel that cannot is no choice alone", {{1, 0}, {2, 2}}, {1, 1}, 1, 0, {1}, 0.5},
    {"a shape that nobody serves counts for nothing", {{1, 0}, {2, 0}}, {1, 5}, 1, 0, {0}, 0},
};

}  // namespace

TEST_CASE("the kernels kept have the least regret", "[wisdom]") {
  for (const Row& row : rows) {
    INFO(row.what);
    const KernelChoice choice = choose_kernels(row.times, row.weights, row.keep, row.goal);
    CHECK(choice.kernels == row.kernels);
    CHECK(choice.regret == Approx(row.regret));
  }
}

TEST_CASE("a shape left alone is infinite regret", "[wisdom]") {
  CHECK(std::isinf(choose_kernels({{1, 0}, {0, 1}}, {1, 1}, 1, 0).regret));
}

TEST_CASE("many kernels: greedy keeps what is asked and never does worse with more", "[wisdom]") {
  Rng rng = Rng::of(1, "portfolio");
  Times times(24, std::vector<double>(10));
  for (auto& row : times) {
    for (double& time : row) time = 1 + rng.unit();
  }
  const std::vector<double> weights(10, 1.0);
  double before = HUGE_VAL;
  for (int keep = 1; keep <= 6; ++keep) {
    const KernelChoice choice = choose_kernels(times, weights, keep, 0);
    CHECK(static_cast<int>(choice.kernels.size()) == keep);
    CHECK(choice.regret <= before);
    before = choice.regret;
  }
  CHECK(choose_kernels(times, weights, 0, 0).regret == 0);
}
