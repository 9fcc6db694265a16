// Templates with hooks on graphs of several forms: every kernel is right by the graph's reference.
#include <cupilot/family.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;
using Values = std::map<std::string, std::int64_t>;

const Tunable* served_by(const std::vector<Tunable>& templates, const Task& task) {
  for (const Tunable& tunable : templates) {
    if (serves(tunable, task)) return &tunable;
  }
  return nullptr;
}

void check_accepted(const Task& task, const std::string& name, const Values& values) {
  const auto templates = templates_of(builtin_families(), task);
  const Tunable* tunable = served_by(templates, task);
  REQUIRE(tunable != nullptr);
  CHECK(tunable->name == name);
  const auto source = instantiate(*tunable, task, virtual_h200().device(), values);
  if (!source) FAIL(source.error().message);
  auto kernel = virtual_h200().compile(*source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code << ": " << kernel.rejected().message);
  REQUIRE(kernel);
  std::vector<Case> cases;
  for (const ContentKind kind :
       {ContentKind::ordinary, ContentKind::special, ContentKind::range_rows, ContentKind::zeros}) {
    cases.emplace_back();
    cases.back().workload = task.time_shapes[0];
    cases.back().content = {cases.size(), kind};
  }
  const auto report = virtual_h200().run(TaskRef(task), *kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

// y = relu(x + b) + r / 2: b is a column, r an element.
Task chain(Sizes sizes, DType type = DType::f32) {
  auto task =
      graph_task({input("x", {"rows", "cols"}, type), input("b", {"cols"}),
                  input("r", {"rows", "cols"}, type), output("y", {"rows", "cols"}, type)},
                 {{"bias", "add", {"x", "b"}, {"h"}},
                  {"act", "relu", {"h"}, {"a"}},
                  {"half", "add", {"a", "r"}, {"y"}, {{"alpha", 0.5}}}},
                 std::move(sizes), type == DType::f32 ? Precision::fp32_strict : Precision::bf16);
  REQUIRE(task);
  return *task;
}

TEST_CASE("a chain of pointwise operators is one kernel", "[hooks][threads]") {
  check_accepted(chain({{"rows", 37}, {"cols", 45}}), "pointwise", {{"VECTOR", 1}, {"ITEMS", 2}});
  check_accepted(chain({{"rows", 9}, {"cols", 128}}), "pointwise",
                 {{"VECTOR", 4}, {"ITEMS", 1}, {"BLOCKS_PER_SM", 1}, {"LOAD_HINT", 1}});
  check_accepted(chain({{"rows", 1}, {"cols", 8}}, DType::bf16), "pointwise",
                 {{"VECTOR", 4}, {"STORE_HINT", 1}});
}

TEST_CASE("rows, scalars of a row and two outputs are one kernel", "[hooks][threads]") {
  const auto task = graph_task({input("x", {"rows", "cols"}), input("s", {"rows", 1}),
                                output("y", {"rows", "cols"}), output("z", {"rows", "cols"})},
                               {{"scale", "add", {"x", "s"}, {"y"}}, {"act", "relu", {"y"}, {"z"}}},
                               {{"rows", 21}, {"cols", 36}});
  REQUIRE(task);
  check_accepted(*task, "pointwise", {{"VECTOR", 2}, {"ITEMS", 4}});
}

// softmax(relu(x + b)) + x / 2 and the mean of each row.
Task rows_graph(Sizes sizes) {
  auto task = graph_task({input("x", {"rows", "cols"}), input("b", {"cols"}),
                          output("y", {"rows", "cols"}), output("m", {"rows"})},
                         {{"bias", "add", {"x", "b"}, {"h"}},
                          {"act", "relu", {"h"}, {"a"}},
                          {"sm", "softmax", {"a"}, {"p"}, {{"dim", std::int64_t{1}}}},
                          {"half", "add", {"p", "x"}, {"y"}, {{"alpha", 0.5}}},
                          {"mean", "mean", {"h"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}}},
                         std::move(sizes));
  REQUIRE(task);
  return *task;
}

TEST_CASE("reductions of rows with operators around them are one kernel", "[hooks][threads]") {
  // Teams within a warp, of a warp, of several; rows held whole, and read again.
  check_accepted(rows_graph({{"rows", 37}, {"cols", 45}}), "rowwise",
                 {{"TEAM", 8}, {"ITEMS", 6}, {"VECTOR", 1}});
  check_accepted(rows_graph({{"rows", 5}, {"cols", 300}}), "rowwise",
                 {{"TEAM", 32}, {"ITEMS", 2}, {"VECTOR", 4}});
  check_accepted(rows_graph({{"rows", 7}, {"cols", 1036}}), "rowwise",
                 {{"TEAM", 128}, {"ITEMS", 1}, {"VECTOR", 4}, {"BLOCKS_PER_SM", 1}});
  check_accepted(rows_graph({{"rows", 300}, {"cols", 6}}), "rowwise",
                 {{"TEAM", 256}, {"VECTOR", 2}, {"BLOCKS_PER_SM", 1}});
}

TEST_CASE("a contraction alone is a plain kernel of its terms", "[hooks][threads]") {
  const auto product =
      graph_task({input("a", {"rows", "cols"}), input("w", {"out", "cols"}), input("b", {"out"}),
                  output("y", {"rows", "out"})},
                 {{"fc", "linear", {"a", "w", "b"}, {"h"}}, {"act", "relu", {"h"}, {"y"}}},
                 {{"rows", 4}, {"cols", 50}, {"out", 6}});
  REQUIRE(product);
  check_accepted(*product, "rowwise", {{"TEAM", 16}, {"VECTOR", 2}});
  // Axes that are named as the operator's coordinates are.
  const auto alike =
      graph_task({input("a", {"m", "k"}), input("b", {"k", "n"}), output("y", {"m", "n"})},
                 {{"mm", "matmul", {"a", "b"}, {"y"}}}, {{"m", 4}, {"n", 6}, {"k", 50}});
  REQUIRE(alike);
  check_accepted(*alike, "rowwise", {{"TEAM", 16}, {"VECTOR", 2}});
}

TEST_CASE("a graph that no hooks serve has no template", "[hooks][threads]") {
  // Folds of rows of two lengths.
  const auto two = graph_task(
      {input("a", {"rows", "cols"}), input("w", {"out", "cols"}), output("y", {"rows", "out"})},
      {{"fc", "linear", {"a", "w"}, {"h"}}, {"sm", "softmax", {"h"}, {"y"}}},
      {{"rows", 4}, {"cols", 5}, {"out", 6}});
  REQUIRE(two);
  CHECK(served_by(templates_of(builtin_families(), *two), *two) == nullptr);
  // A fold along another dimension than the last.
  const auto down = graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                               {{"sm", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{0}}}}},
                               {{"rows", 4}, {"cols", 5}});
  REQUIRE(down);
  CHECK(served_by(templates_of(builtin_families(), *down), *down) == nullptr);
}

TEST_CASE("a task of a family with templates of its own is served by them alone",
          "[hooks][threads]") {
  const auto task = task_from_words({"softmax", "rows=4", "cols=8"});
  REQUIRE(task);
  for (const Tunable& tunable : templates_of(builtin_families(), *task)) {
    CHECK(tunable.name != "rowwise");
    CHECK(tunable.anchor.empty());
  }
}

}  // namespace
}  // namespace cupilot
