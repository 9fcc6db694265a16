// Which edges of a program are views of whose buffer.
#include "program/views.hpp"

#include <cupilot/parts/dtype.hpp>

#include "catch.hpp"
#include "program/part_task.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

using support::cat;
using support::graph_task;
using support::input;
using support::op;
using support::output;

const Sizes sizes = {{"rows", 64}, {"k", 32}, {"g", 16}};

struct Row {
  const char* name;
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
  std::map<std::string, ViewPlace> places;
  std::map<std::string, CopiedInputs> cats;
  Sizes sizes = {{"rows", 64}, {"k", 32}, {"g", 16}};
};

Task task_of(const Row& row) {
  auto task = graph_task(row.tensors, row.operations, row.sizes);
  if (!task) FAIL(row.name << ": " << task.error().message);
  return std::move(*task);
}

const std::vector<Tensor> two = {input("x", {"rows", "k"}), input("z", {"rows", "g"}),
                                 output("y", {"rows", "k + g"})};

TEST_CASE("inputs of cat are views where all parts keep their templates", "[views]") {
  const std::vector<Row> rows = {
      {"columns of rows",
       two,
       {op("left", "relu", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        cat("join", {"a", "b"}, "y", 1)},
       {{"a", {"y", 0, {"k + g", 1}}}, {"b", {"y", "k", {"k + g", 1}}}},
       {{"y", {0, 0}}}},
      {"rows after rows lie dense",
       {input("x", {"rows", "k"}), input("z", {"g", "k"}), output("y", {"rows + g", "k"})},
       {op("left", "relu", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        cat("join", {"a", "b"}, "y", 0)},
       {{"a", {"y", 0, {"k", 1}}}, {"b", {"y", "rows*k", {"k", 1}}}},
       {{"y", {0, 0}}}},
      {"a tensor of the caller's is copied, alone",
       two,
       {op("right", "gelu", {"z"}, "b"), cat("join", {"x", "b"}, "y", 1)},
       {{"b", {"y", "k", {"k + g", 1}}}},
       {{"y", {0, 1}}}},
      {"what lies between copied inputs is copied",
       {input("x", {"rows", "k"}), input("z", {"rows", "g"}), output("y", {"rows", "k + g + k"})},
       {op("right", "gelu", {"z"}, "b"), cat("join", {"x", "b", "x"}, "y", 1)},
       {},
       {}},
      {"a value that stands there twice is copied",
       {input("x", {"rows", "k"}), output("y", {"rows", "k + k"})},
       {op("left", "relu", {"x"}, "a"), cat("join", {"a", "a"}, "y", 1)},
       {},
       {}},
      {"a base that is no multiple of 16 bytes is none",
       two,
       {op("left", "relu", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        cat("join", {"a", "b"}, "y", 1)},
       {},
       {},
       {{"rows", 64}, {"k", 30}, {"g", 16}}},
      {"softmax has templates that write rows without a pitch alone",
       two,
       {op("left", "softmax", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        cat("join", {"a", "b"}, "y", 1)},
       {{"b", {"y", "k", {"k + g", 1}}}},
       {{"y", {0, 1}}}},
      {"prefixes share the largest buffer",
       {input("x", {"rows", "k"}), input("w", {"g", "k"}), input("v", {"g", "k + g"}),
        output("y", {"rows", "k + g + g"})},
       {op("stem", "relu", {"x"}, "s"), op("grow1", "linear", {"s", "w"}, "a"),
        cat("join1", {"s", "a"}, "c", 1), op("grow2", "linear", {"c", "v"}, "b"),
        cat("join2", {"c", "b"}, "y", 1)},
       {{"s", {"y", 0, {"k + g + g", 1}}},
        {"a", {"y", "k", {"k + g + g", 1}}},
        {"c", {"y", 0, {"k + g + g", 1}}},
        {"b", {"y", "k + g", {"k + g + g", 1}}}},
       {{"c", {0, 0}}, {"y", {0, 0}}}},
      {"lists that grow share the largest buffer",
       {input("x", {"rows", "k"}), input("w", {"g", "k"}), input("v", {"g", "k + g"}),
        output("y", {"rows", "k + g + g"})},
       {op("stem", "relu", {"x"}, "s"), op("grow1", "linear", {"s", "w"}, "a"),
        cat("join1", {"s", "a"}, "c", 1), op("grow2", "linear", {"c", "v"}, "b"),
        cat("join2", {"s", "a", "b"}, "y", 1)},
       {{"s", {"y", 0, {"k + g + g", 1}}},
        {"a", {"y", "k", {"k + g + g", 1}}},
        {"c", {"y", 0, {"k + g + g", 1}}},
        {"b", {"y", "k + g", {"k + g + g", 1}}}},
       {{"c", {0, 0}}, {"y", {0, 0}}}},
      {"lists of another order share none",
       {input("x", {"rows", "k"}), input("w", {"g", "k"}), input("v", {"g", "k + g"}),
        output("y", {"rows", "k + g + g"})},
       {op("stem", "relu", {"x"}, "s"), op("grow1", "linear", {"s", "w"}, "a"),
        cat("join1", {"a", "s"}, "c", 1), op("grow2", "linear", {"c", "v"}, "b"),
        cat("join2", {"s", "a", "b"}, "y", 1)},
       {{"s", {"y", 0, {"k + g + g", 1}}},
        {"a", {"y", "k", {"k + g + g", 1}}},
        {"b", {"y", "k + g", {"k + g + g", 1}}}},
       {{"y", {0, 0}}}},
      {"a value and what is made of it lie in two buffers",
       {input("x", {"rows", "k"}), input("z", {"rows", "k"}), output("u", {"rows", "k + k"}),
        output("y", {"rows", "k + k"})},
       {op("left", "relu", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        op("more", "gelu", {"a"}, "d"), op("other", "relu", {"z"}, "e"),
        cat("join1", {"a", "b"}, "u", 1), cat("join2", {"d", "e"}, "y", 1)},
       {{"a", {"u", 0, {"k + k", 1}}},
        {"b", {"u", "k", {"k + k", 1}}},
        {"d", {"y", 0, {"k + k", 1}}},
        {"e", {"y", "k", {"k + k", 1}}}},
       {{"u", {0, 0}}, {"y", {0, 0}}}},
      {"operands of products begin where the buffer does",
       {input("x", {"rows", "k"}), input("z", {"rows", "g"}), input("w", {"g", "g"}),
        output("y", {"rows", "k + g"}), output("p", {"rows", "g"})},
       {op("left", "relu", {"x"}, "a"), op("right", "gelu", {"z"}, "b"),
        op("product", "linear", {"b", "w"}, "p"), cat("join", {"a", "b"}, "y", 1)},
       {{"a", {"y", 0, {"k + g", 1}}}},
       {{"y", {1, 2}}}},
      {"a reader that computes the cat itself needs no copy of the caller's",
       {input("x", {"rows", "k"}), input("z", {"rows", "g"}), output("y", {"rows", "k + g"})},
       {op("right", "gelu", {"z"}, "b"), cat("join", {"x", "b"}, "c", 1),
        op("last", "relu", {"c"}, "y")},
       {},
       {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Views views = find_views(task_of(row), builtin_families());
    std::string found;
    for (const auto& [name, place] : views.places)
      found += name + " in " + place.root + " from " + place.offset.text + "; ";
    INFO(found);
    CHECK(views.places == row.places);
    CHECK(views.cats == row.cats);
  }
}

TEST_CASE("a part has views as tensors with strides", "[views]") {
  const Task task = task_of(
      {"", two, {op("right", "gelu", {"z"}, "b"), cat("join", {"x", "b"}, "y", 1)}, {}, {}});
  const Views views = find_views(task, builtin_families());
  const auto writer = served_part(task, {0}, builtin_families(), {}, views);
  REQUIRE(writer);
  const Tensor* b = find_tensor(writer->task, "b");
  CHECK(b->strides == std::vector<Expr>{"k + g", 1});
  CHECK(b->alignment == 16);
  CHECK(writer->places.at("b").root == "y");
  // The copy of x alone, into the first columns of y.
  const auto copy = served_part(task, {1}, builtin_families(), {}, views);
  REQUIRE(copy);
  CHECK_FALSE(copy->only_views);
  CHECK(copy->task.tensors.size() == 2);
  const Tensor* y = find_tensor(copy->task, "y");
  CHECK(y->shape == std::vector<Expr>{"rows", "k"});
  CHECK(y->strides == std::vector<Expr>{"k + g", 1});
  CHECK(copy->places.at("y") == ViewPlace{"y", 0, {"k + g", 1}});
}

}  // namespace
}  // namespace cupilot
