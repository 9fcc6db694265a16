// Which lower classes errors of a whole graph can tell.
#include "evolution/program/calibrate.hpp"

#include "catch.hpp"
#include "evolution/program/support.hpp"

namespace cupilot::testing {
namespace {

// Two products with a gelu between them.
Task mlp(std::int64_t rows, std::int64_t m, Precision precision = Precision::fp32_strict) {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "mlp";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}, {"m"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("v", Role::in, {"m", "n"}), tensor("y", Role::out, {"rows", "m"})};
  task.operations = {{"first", "linear", {"x", "w"}, {"h"}, {}},
                     {"act", "gelu", {"h"}, {"a"}, {}},
                     {"last", "linear", {"a", "v"}, {"y"}, {}}};
  task.precision = precision;
  task.time_shapes = {{{{"rows", rows}, {"k", 64}, {"n", 48}, {"m", m}}}};
  REQUIRE_OK(complete(task));
  return task;
}

TEST_CASE("classes that errors of the whole cannot tell are named", "[threads]") {
  const std::vector<std::string> all = {"first in tf32 or fp16", "first in bf16",
                                        "last in tf32 or fp16", "last in bf16"};
  struct Row {
    Task task;
    std::vector<std::string> untold;
  };
  const Row rows[] = {
      {mlp(16, 24), {}},
      {mlp(2, 3), all},                    // too few elements
      {mlp(16, 24, Precision::tf32), {}},  // not proved so
  };
  for (const Row& row : rows) {
    const auto untold = untold_classes(device(), row.task);
    REQUIRE_OK(untold);
    CHECK(*untold == row.untold);
  }
}

}  // namespace
}  // namespace cupilot::testing
