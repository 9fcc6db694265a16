// Graphs of operations that cannot be: named with the operation and the reason.
#include "support/graph.hpp"
#include "catch.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

const std::vector<Tensor> tensors = {input("x", {"rows", "cols"}), input("b", {"cols"}),
                                     input("w", {"cols", "cols"}), output("y", {"rows", "cols"})};

TEST_CASE("a graph that cannot be is refused with operation and reason", "[graph]") {
  struct Row {
    std::vector<Operation> operations;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {{{"one", "gelo", {"x"}, {"y"}}}, "operation 'one' (gelo): is no operator that is known"},
      {{{"one", "gemm", {"x", "w"}, {"y"}}}, "has no stages"},
      {{{"one", "atan2", {"x"}, {"y"}}}, "input b is missing"},
      {{{"one", "relu", {"x", "b"}, {"y"}}}, "takes 1 inputs, not 2"},
      {{{"one", "relu", {"z"}, {"y"}}}, "'z' is no tensor and no output of an earlier operation"},
      // An edge before it is written.
      {{{"one", "relu", {"h"}, {"y"}}, {"two", "relu", {"x"}, {"h"}}}, "'h' is no tensor"},
      {{{"one", "relu", {"x"}, {}}}, "gives 1 outputs"},
      {{{"one", "relu", {"x"}, {"y", "z"}}}, "gives 1 outputs"},
      {{{"one", "relu", {"x"}, {"y"}, {{"slope", 0.5}}}}, "has no attribute 'slope'"},
      {{{"one", "einsum", {"x", "w"}, {"y"}}}, "attribute 'equation' is missing"},
      {{{"one", "einsum", {"x", "w"}, {"y"}, {{"equation", std::string("ij,jk")}}}}, "no ->"},
      {{{"one", "einsum", {"x", "w"}, {"y"}, {{"equation", std::string("ij,ik->jk")}}}},
       "'i' is rows and cols"},
      {{{"one", "matmul", {"x", "b"}, {"y"}}}, "gives 'y' the shape 3, but the tensor is 3 x 5"},
      {{{"one", "matmul", {"w", "x"}, {"y"}}}, "inner extents cols and rows differ"},
      {{{"one", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{2}}}}}, "dimension 2 of 2"},
      {{{"one", "add", {"x", "y"}, {"y"}}}, "'y' is no tensor"},
      {{{"one", "relu", {"x"}, {"b"}}}, "writes the input 'b'"},
      {{{"one", "relu", {"x"}, {"y"}}, {"two", "relu", {"x"}, {"y"}}}, "'y' is written twice"},
      {{{"one", "relu", {"x"}, {"h"}}, {"one", "relu", {"h"}, {"y"}}},
       "two operations have this name"},
      {{{"one", "relu", {"x"}, {"rows"}}}, "'rows' is an axis"},
      {{{"one", "relu", {"x"}, {"2h"}}}, "'2h' is not a name"},
      {{{"a b", "relu", {"x"}, {"y"}}}, "its name is none"},
  }));
  const auto task = graph_task(tensors, row.operations, {{"rows", 3}, {"cols", 5}});
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
  CHECK_FALSE(task.error().hint.empty());
}

TEST_CASE("a mistyped operator is told the one that was probably meant", "[graph]") {
  const auto hint = [](const char* kind) {
    return graph_task(tensors, {{"one", kind, {"x"}, {"y"}}}, {{"rows", 3}, {"cols", 5}})
        .error()
        .hint;
  };
  CHECK_THAT(hint("gelo"), Catch::Contains("did you mean gelu? `cupilot operators`"));
  CHECK(hint("qqqq").find("did you mean") == std::string::npos);
}

TEST_CASE("edges have the shapes that operations give", "[graph]") {
  const auto task =
      graph_task(tensors,
                 {{"fc", "matmul", {"x", "w"}, {"h"}},
                  {"total",
                   "sum",
                   {"h"},
                   {"t"},
                   {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", std::int64_t{1}}}},
                  {"shift", "add", {"h", "t"}, {"y"}}},
                 {{"rows", 3}, {"cols", 5}});
  if (!task) FAIL(task.error().message);
  REQUIRE(task->edges.size() == 2);
  CHECK(task->edges[0].name == "h");
  CHECK(task->edges[0].shape == std::vector<Expr>{"rows", "cols"});
  CHECK(task->edges[1].shape == std::vector<Expr>{"rows", 1});
  // A sum of sums: the longer one counts.
  CHECK(task->tensors[3].check.length.text == "cols");
  CHECK(*textbook_flops(*task, task->time_shapes[0]) == 2 * 3 * 5 * 5 + 15 + 15);
}

TEST_CASE("a graph comes back from JSON as it was", "[graph]") {
  const auto task = graph_task(tensors,
                               {{"soft", "softmax", {"x"}, {"p"}, {{"dim", std::int64_t{-1}}}},
                                {"half", "add", {"p", "b"}, {"y"}, {{"alpha", 0.25}}}},
                               {{"rows", 3}, {"cols", 5}});
  REQUIRE(task);
  const auto json = task_to_json(*task);
  REQUIRE(json);
  const auto back = task_from_json(*json, "again");
  if (!back) FAIL(back.error().message);
  CHECK(task_id(*back) == task_id(*task));
  CHECK(back->reference.stages == task->reference.stages);
  CHECK(back->edges.size() == 1);
  CHECK(*task_to_json(*back) == *json);
}

TEST_CASE("a text beside operations with attributes comes back from JSON", "[graph]") {
  Task task = *graph_task(tensors, {{"soft", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{1}}}}},
                          {{"rows", 3}, {"cols", 5}});
  task.tensors = {tensors[0], tensors[3]};
  task.reference = {
      "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i); }",
      "own.cu",
      {}};
  const auto json = task_to_json(task);
  REQUIRE(json);
  const auto back = task_from_json(*json, "again");
  if (!back) FAIL(back.error().message);
  CHECK(task_id(*back) == task_id(task));
}

}  // namespace
}  // namespace cupilot
