// Extents of a task that are joined in one output, or that no proof shrinks.
#include <algorithm>
#include <cmath>
#include <cupilot/parts/verification.hpp>

#include "catch.hpp"
#include "task/content.hpp"
#include "task/rules/apply.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

TEST_CASE("where all lines are joined one element alone lies far to each side") {
  for (const bool joined : {false, true}) {
    Task task;
    task.name = task.family = "largest";
    task.axes = {{"rows", joined ? AxisKind::reduced : AxisKind::free},
                 {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {joined ? "1" : "rows"}, {}, {}, {}}};
    const std::vector<std::int64_t> dims =
        joined ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1};
    task.operations = {{"op", "amax", {"x"}, {"y"}, {{"dim", Attribute(dims)}}}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"1"}, .block = {32}}};
    double low = 0, high = 0;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false)) {
      const auto& sizes = run.workload.sizes;
      if (run.content.kind != ContentKind::scales || sizes.at("rows") * sizes.at("cols") != 1)
        continue;
      const auto params = fill_params(task, 0, run.workload, run.content);
      REQUIRE(params);
      const double value = decode(fill_bits(*params, 0), params->type);
      low = std::min(low, value), high = std::max(high, value);
    }
    CHECK((low < -1e30) == joined);
    CHECK((high > 1e29) == joined);
  }
}

TEST_CASE("extents that no proof shrinks are told where they are large") {
  for (const bool numbers : {false, true}) {
    const Expr k = numbers ? Expr(4096) : Expr("k"), n = numbers ? Expr(4096) : Expr("n");
    Task task;
    task.name = "linear";
    task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}};
    task.tensors = {Tensor{.name = "x", .role = Role::in, .shape = {"rows", k}},
                    Tensor{.name = "w", .role = Role::in, .shape = {n, k}},
                    Tensor{.name = "y", .role = Role::out, .shape = {"rows", n}}};
    task.operations = {{"product", "linear", {"x", "w"}, {"y"}, {}}};
    task.time_shapes = {{{{"rows", 64}, {"k", 4096}, {"n", 4096}}}};
    REQUIRE(complete(task));
    CHECK(large_at_the_least(task).empty() == !numbers);
  }
}

TEST_CASE("where the answer is an extreme, lines and wholes of one infinity each are met") {
  struct Row {
    const char* kind;
    bool joined, given, finite;
  };
  for (const Row& row : {Row{"amax", true, true, false},
                         {"amax", false, true, false},
                         {"amin", true, true, false},
                         {"amax", true, false, true},
                         {"sum", true, false, false},
                         {"logsumexp", false, false, false}}) {
    CAPTURE(row.kind, row.joined, row.finite);
    Task task;
    task.name = task.family = "extreme";
    task.axes = {{"rows", row.joined ? AxisKind::reduced : AxisKind::free},
                 {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {row.joined ? "1" : "rows"}, {}, {}, {}}};
    if (row.finite) task.tensors[0].fill.values = FillValues::finite;
    const std::vector<std::int64_t> dims =
        row.joined ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1};
    task.operations = {{"op", row.kind, {"x"}, {"y"}, {{"dim", Attribute(dims)}}}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"1"}, .block = {32}}};
    bool low = false, high = false;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false)) {
      const auto& sizes = run.workload.sizes;
      if (run.content.kind != ContentKind::special || sizes.at("cols") != 1) continue;
      const auto params = fill_params(task, 0, run.workload, run.content);
      REQUIRE(params);
      for (std::int64_t i = 0; i < sizes.at("rows"); ++i) {
        const double value = decode(fill_bits(*params, i), params->type);
        low |= std::isinf(value) && value < 0;
        high |= std::isinf(value) && value > 0;
      }
    }
    CHECK(low == row.given);
    CHECK(high == row.given);
  }
}

}  // namespace
}  // namespace cupilot
