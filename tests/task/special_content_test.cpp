// Content special where inputs are read together.
#include <cmath>
#include <set>
#include <utility>

#include "catch.hpp"
#include "task/content.hpp"

namespace cupilot {
namespace {

Task of_inputs(std::vector<Tensor> inputs, AxisKind columns = AxisKind::free) {
  Task task;
  task.name = "t";
  task.axes = {{"rows", AxisKind::free}, {"columns", columns}};
  task.tensors = std::move(inputs);
  return task;
}
Tensor tensor(const char* name, std::vector<Expr> shape) {
  return {.name = name, .type = DType::f32, .shape = std::move(shape)};
}

// The kind of special value an element holds; 0: none.
int special_kind(double value) {
  if (std::isnan(value)) return 1;
  if (std::isinf(value)) return value > 0 ? 2 : 3;
  if (value == 0 && std::signbit(value)) return 4;
  return value != 0 && std::abs(value) < 0x1p-126 ? 5 : 0;
}

// Pairs of kinds that two inputs hold at one place of their last dimensions.
std::set<std::pair<int, int>> met(const Task& task, std::int64_t rows, std::int64_t columns,
                                  std::uint64_t seed) {
  const Workload workload{.sizes = {{"rows", rows}, {"columns", columns}}};
  const Content content{.seed = seed, .kind = ContentKind::special};
  const auto a = fill_params(task, 0, workload, content);
  const auto b = fill_params(task, 1, workload, content);
  REQUIRE(a);
  REQUIRE(b);
  std::set<std::pair<int, int>> out;
  for (std::int64_t i = 0; i < a->elements; ++i) {
    const int one = special_kind(decode(fill_bits(*a, i), a->type));
    const int other = special_kind(decode(fill_bits(*b, i % b->elements), b->type));
    if (one != 0 && other != 0) out.insert({one, other});
  }
  return out;
}

TEST_CASE("special values of inputs that are read together meet in all pairs but one") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const auto x = tensor("x", {"rows", "columns"});
  CHECK(met(of_inputs({x, tensor("z", {"rows", "columns"})}), 3, 127, seed).size() == 24);
  CHECK(met(of_inputs({x, tensor("z", {"rows", "columns"})}), 40, 5, seed).size() == 24);
  CHECK(met(of_inputs({x, tensor("z", {"columns"})}), 9, 64, seed).size() >= 24);
  // Lines that are summed keep one value each, and little keeps what is ordinary.
  CHECK(met(of_inputs({x, tensor("z", {"columns"})}, AxisKind::reduced), 9, 64, seed).size() < 24);
  CHECK(met(of_inputs({x, tensor("z", {"rows", "columns"})}), 7, 9, seed).size() < 24);
  auto finite = tensor("z", {"rows", "columns"});
  finite.fill.values = FillValues::finite;
  CHECK(met(of_inputs({x, finite}), 3, 127, seed).empty());
}

}  // namespace
}  // namespace cupilot
