// Which lower classes errors of a whole graph can tell.
#include "evolution/program/calibrate.hpp"

#include "catch.hpp"
#include "evolution/program/support.hpp"

namespace cupilot::testing {
namespace {

// Two products with a gelu between them. small: an output of six elements at every shape.
Task mlp(Precision precision = Precision::fp32_strict, bool small = false) {
  const Expr rows = small ? "2" : "rows", m = small ? "3" : "m";
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "mlp";
  task.axes = {{"k", AxisKind::reduced}, {"n"}};
  task.time_shapes = {{{{"k", 64}, {"n", 48}}}};
  if (!small) {
    task.axes.insert(task.axes.end(), {{"rows"}, {"m"}});
    task.time_shapes[0].sizes.insert({{"rows", 16}, {"m", 24}});
  }
  task.tensors = {tensor("x", Role::in, {rows, "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("v", Role::in, {m, "n"}), tensor("y", Role::out, {rows, m})};
  task.operations = {{"first", "linear", {"x", "w"}, {"h"}, {}},
                     {"act", "gelu", {"h"}, {"a"}, {}},
                     {"last", "linear", {"a", "v"}, {"y"}, {}}};
  task.precision = precision;
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
      {mlp(), {}},
      {mlp(Precision::fp32_strict, true), all},  // too few elements at every shape
      {mlp(Precision::tf32),
       {"first in bf16", "the result of first in bf16", "the result of act in bf16",
        "last in bf16"}},
      {mlp(Precision::bf16),
       {"the result of first in fp8", "the result of act in fp8", "last in fp8"}},
      {mlp(Precision::bf16x3), {}},  // not proved so
  };
  for (const Row& row : rows) {
    const auto untold = untold_classes(device(), row.task);
    REQUIRE_OK(untold);
    CHECK(*untold == row.untold);
  }
}

}  // namespace
}  // namespace cupilot::testing
