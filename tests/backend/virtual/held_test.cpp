// What row templates hold across folds, and rows that fit their registers.
#include <cupilot/family.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

// relu(layer_norm(x + a)) + r: outputs alone read g, b and r.
Task norm_and_residual(Sizes sizes) {
  const std::vector<Expr> shape = {"rows", "cols"};
  auto task = graph_task({input("x", shape), input("a", shape), input("g", {"cols"}),
                          input("b", {"cols"}), input("r", shape), output("y", shape)},
                         {{"sum", "add", {"x", "a"}, {"h"}},
                          {"norm", "layer_norm", {"h", "g", "b"}, {"n"}},
                          {"act", "relu", {"n"}, {"p"}},
                          {"last", "add", {"p", "r"}, {"y"}}},
                         std::move(sizes));
  REQUIRE(task);
  return *task;
}

// The same along the first dimension.
Task centred_columns(Sizes sizes) {
  const std::vector<Expr> shape = {"rows", "cols"};
  auto task = graph_task({input("x", shape), input("r", shape), output("y", shape)},
                         {{"mean",
                           "mean",
                           {"x"},
                           {"m"},
                           {{"dim", std::vector<std::int64_t>{0}}, {"keepdim", std::int64_t{1}}}},
                          {"apart", "sub", {"x", "m"}, {"d"}},
                          {"last", "mul", {"d", "r"}, {"y"}}},
                         std::move(sizes));
  REQUIRE(task);
  return *task;
}

TEST_CASE("what outputs alone read is loaded after the folds", "[hooks][threads]") {
  const Task rows = norm_and_residual({{"rows", 5}, {"cols", 520}});
  check_accepted(rows, "rowwise", {{"TEAM", 32}, {"ITEMS", 3}, {"VECTOR", 4}});
  check_accepted(rows, "rowwise", {{"TEAM", 256}, {"ITEMS", 6}, {"VECTOR", 1}, {"LOAD_HINT", 1}});
  check_accepted(rows, "rows_in_parts", {{"PARTS", 2}, {"THREADS", 128}, {"VECTOR", 2}});
  check_accepted(
      rows, "rows_in_cluster",
      {{"CLUSTER", 2}, {"THREADS", 128}, {"VECTOR", 1}, {"ITEMS", 1}, {"SLOTS", 2}, {"TURNS", 2}});
  check_accepted(rows, "rows_in_cluster",
                 {{"CLUSTER", 2}, {"THREADS", 128}, {"VECTOR", 1}, {"ITEMS", 1}});
  check_accepted(centred_columns({{"rows", 45}, {"cols", 36}}), "columnwise",
                 {{"LANES", 32}, {"DEPTH", 4}, {"ITEMS", 2}, {"VECTOR", 4}});
  const auto templates = templates_of(builtin_families(), rows);
  const std::string& text = named(templates, rows, "rowwise")->text;
  const auto held =
      text.find("struct Values {\n    Vector<T_a, N> a;\n    Vector<T_x, N> x;\n  };");
  CHECK(held != std::string::npos);
  CHECK(text.find("struct All : Values<N> {\n    Vector<T_r, N> r;\n  };") != std::string::npos);
}

TEST_CASE("rows that fit the registers need no code for longer ones", "[hooks][threads]") {
  const Task full = norm_and_residual({{"rows", 5}, {"cols", 512}});
  const Task short_rows = norm_and_residual({{"rows", 5}, {"cols", 500}});
  for (const std::int64_t fit : {1, 2}) {
    const Task& rows = fit == 2 ? full : short_rows;
    check_accepted(rows, "rowwise", {{"TEAM", 32}, {"ITEMS", 4}, {"VECTOR", 4}, {"FIT", fit}});
    check_accepted(
        rows, "rowwise",
        {{"TEAM", 128}, {"ITEMS", 2}, {"VECTOR", 2}, {"FIT", fit}, {"BLOCKS_PER_SM", 1}});
    check_accepted(rows, "rows_in_cluster",
                   {{"CLUSTER", 2}, {"THREADS", 128}, {"VECTOR", 1}, {"ITEMS", 2}, {"FIT", fit}});
    check_accepted(norm_and_residual({{"rows", 3}, {"cols", fit == 2 ? 768 : 760}}),
                   "rows_in_cluster",
                   {{"CLUSTER", 2},
                    {"THREADS", 128},
                    {"VECTOR", 1},
                    {"ITEMS", 1},
                    {"SLOTS", 2},
                    {"FIT", fit}});
    check_accepted(centred_columns({{"rows", fit == 2 ? 64 : 60}, {"cols", 36}}), "columnwise",
                   {{"LANES", 32}, {"DEPTH", 8}, {"ITEMS", 8}, {"VECTOR", 2}, {"FIT", fit}});
  }
  // A kernel without that code is not for longer rows, or others.
  const auto serves_shape = [](const Task& task, std::int64_t fit) {
    const auto templates = templates_of(builtin_families(), task);
    const auto source =
        instantiate(*named(templates, task, "rowwise"), task, virtual_h200().device(),
                    {{"TEAM", 32}, {"ITEMS", 4}, {"VECTOR", 4}, {"FIT", fit}});
    REQUIRE(source);
    const auto plan = resolve(*source, task, task.time_shapes[0], virtual_h200().device(), nullptr);
    REQUIRE(plan);
    return std::holds_alternative<ResolvedPlan>(*plan);
  };
  CHECK(!serves_shape(norm_and_residual({{"rows", 5}, {"cols", 516}}), 1));
  CHECK(!serves_shape(short_rows, 2));
  CHECK(serves_shape(short_rows, 1));
  CHECK(serves_shape(full, 2));
}

}  // namespace
}  // namespace cupilot
