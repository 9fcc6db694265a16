// Products of matrices within graphs: what is found, and what is none.
#include "program/hooks/product.hpp"

#include "catch.hpp"
#include "program/hooks/graph_site.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

const Sizes sizes = {{"b", 2}, {"i", 3}, {"j", 4}, {"k", 5}, {"cols", 6}};

Operation einsum(const char* equation) {
  return {"e", "einsum", {"x", "w"}, {"y"}, {{"equation", std::string(equation)}}};
}

struct Row {
  std::vector<Expr> x, w, y;
  Operation operation;
  std::string found;  // a b turned_a turned_b batch m n k; "": none
};

std::string found_in(const Task& task) {
  const auto product = graph_product(task);
  if (!product) return "";
  return product->a + " " + product->b + (product->turned_a ? " 1" : " 0") +
         (product->turned_b ? " 1 " : " 0 ") + product->batch.text + " " + product->m.text + " " +
         product->n.text + " " + product->k.text;
}

TEST_CASE("products are found by their coordinates", "[product]") {
  const Row rows[] = {
      {{"i", "cols"},
       {"j", "cols"},
       {"i", "j"},
       {"l", "linear", {"x", "w"}, {"y"}},
       "x w 0 1 1 i j cols"},
      {{"i", "cols"},
       {"cols", "j"},
       {"i", "j"},
       {"m", "matmul", {"x", "w"}, {"y"}},
       "x w 0 0 1 i j cols"},
      {{"cols", "i"},
       {"cols", "j"},
       {"i", "j"},
       {"m", "matmul", {"x", "w"}, {"y"}, {{"transpose_a", std::int64_t{1}}}},
       "x w 1 0 1 i j cols"},
      {{"b", "i", "cols"},
       {"b", "cols", "j"},
       {"b", "i", "j"},
       {"m", "matmul", {"x", "w"}, {"y"}},
       "x w 0 0 b i j cols"},
      // A shared operand makes rows of batches.
      {{"b", "i", "cols"},
       {"cols", "j"},
       {"b", "i", "j"},
       einsum("bil,lj->bij"),
       "x w 0 0 1 b*i j cols"},
      // The result lies the other way.
      {{"i", "cols"}, {"cols", "j"}, {"j", "i"}, einsum("il,lj->ji"), "w x 1 1 1 j i cols"},
      {{"i", "cols"}, {"cols"}, {"i"}, einsum("il,l->i"), "x w 0 1 1 i 1 cols"},
      // None: batches of the second alone, a diagonal, no sum, dots of rows.
      {{"i", "cols"}, {"b", "cols", "j"}, {"b", "i", "j"}, einsum("il,blj->bij"), ""},
      {{"b", "cols", "i"}, {"b", "i", "cols"}, {"i", "b"}, einsum("bli,bil->ib"), ""},
      {{"i", "j"}, {"j", "k"}, {"i", "j", "k"}, einsum("ij,jk->ijk"), ""},
      {{"i", "cols"}, {"i", "cols"}, {"i"}, einsum("il,il->i"), ""},
  };
  for (const Row& row : rows) {
    auto task = graph_task({input("x", row.x), input("w", row.w), output("y", row.y)},
                           {row.operation}, sizes);
    if (!task) FAIL(task.error().message);
    CHECK(found_in(*task) == row.found);
  }
}

TEST_CASE("what takes a product's result to another place is served by no product", "[product]") {
  using Integers = std::vector<std::int64_t>;
  const auto task = graph_task(
      {input("x", {"i", "cols"}), input("w", {12, "cols"}), output("y", {"i", 4, 3})},
      {{"product", "linear", {"x", "w"}, {"h"}},
       {"heads", "unflatten", {"h"}, {"g"}, {{"dim", std::int64_t{1}}, {"shape", Integers{3, 4}}}},
       {"turn", "transpose", {"g"}, {"y"}, {{"dim0", std::int64_t{1}}, {"dim1", std::int64_t{2}}}}},
      {{"i", 3}, {"cols", 6}});
  INFO((task ? "" : task.error().message));
  REQUIRE(task);
  const auto product = graph_product(*task);
  REQUIRE(product);
  CHECK_FALSE(graph_site(product->rest));
}

TEST_CASE("a product's operands may pass through stages that only turn them", "[product]") {
  const auto turned = graph_task(
      {input("x", {"i", "cols"}), input("w", {"j", "cols"}), output("y", {"i", "j"})},
      {{"t", "transpose", {"w"}, {"v"}, {{"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}}},
       {"m", "matmul", {"x", "v"}, {"y"}}},
      sizes);
  REQUIRE(turned);
  CHECK(found_in(*turned) == "x w 0 1 1 i j cols");
  CHECK(graph_product(*turned)->rest.reference.stages.size() == 1);
  const auto scaled =
      graph_task({input("x", {"i", "cols"}), input("w", {"cols", "j"}), output("y", {"i", "j"})},
                 {{"s", "relu", {"w"}, {"v"}}, {"m", "matmul", {"x", "v"}, {"y"}}}, sizes);
  REQUIRE(scaled);
  CHECK(found_in(*scaled).empty());
  const auto twice = graph_task(
      {input("x", {"i", "cols"}), input("w", {"cols", "cols"}), output("y", {"i", "cols"})},
      {{"m", "matmul", {"x", "w"}, {"h"}}, {"n", "matmul", {"h", "w"}, {"y"}}}, sizes);
  REQUIRE(twice);
  CHECK(found_in(*twice).empty());
}

}  // namespace
}  // namespace cupilot
