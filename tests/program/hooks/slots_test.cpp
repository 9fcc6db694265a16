// Issue slots of reference texts and of graphs.
#include "program/hooks/slots.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

struct Case {
  std::string text;
  std::int64_t slots;
  std::set<std::string> used;
};

TEST_CASE("slots of a text: what is known or of a row costs nothing") {
  const std::vector<std::pair<std::string, std::string>> constants = {
      {"yes", "true"}, {"no", "false"}, {"one", "1"}, {"two", "1 + one"}, {"half", "0x1p-1"}};
  const std::set<std::string> still = {"mean_", "scale_"};
  const std::vector<Case> cases = {
      {"", 0, {}},
      {"real(x_)", 0, {"real", "x_"}},
      {"real(x_) * real(y_) + real(1)", 2, {"real", "x_", "y_"}},
      {"x_ * one + real(0)", 0, {"one", "real", "x_"}},
      {"x_ / y_", 9, {"x_", "y_"}},
      {"x_ / two", 1, {"two", "x_"}},
      {"x_ / real(3)", 9, {"real", "x_"}},
      {"yes ? exp_(x_) : log_(y_)", 8, {"exp_", "x_", "yes"}},
      {"no ? exp_(x_) : y_", 0, {"no", "y_"}},
      {"!no && yes ? x_ : erf_(y_)", 0, {"no", "x_", "yes"}},
      {"no && x_ < y_ ? x_ : y_", 0, {"no", "y_"}},
      {"x_ < y_ || yes ? x_ : z_", 0, {"x_", "y_", "yes"}},
      {"x_ < real(0) ? real(0) : x_", 2, {"real", "x_"}},
      {"pow_(x_, two)", 1, {"pow_", "two", "x_"}},
      {"pow_(x_, half)", 8, {"half", "pow_", "x_"}},
      {"pow_(x_, y_)", 40, {"pow_", "x_", "y_"}},
      {"(x_ - mean_) / sqrt_(scale_ + real(0x1p-10))",
       10,
       {"mean_", "real", "scale_", "sqrt_", "x_"}},
      {"-max_(x_, -infinity_())", 1, {"infinity_", "max_", "x_"}},
      {"x(n, g * size_c + c) * y_", 1, {"c", "g", "n", "size_c", "x", "y_"}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    std::set<std::string> used;
    CHECK(slots_of(one.text, constants, still, used) == one.slots);
    CHECK(used == one.used);
  }
}

TEST_CASE("slots of a text that is no expression follow its length") {
  std::set<std::string> used;
  CHECK(slots_of("static_cast<int>(x)] + 1 ", {}, {}, used) == 4);
  for (const char letter : {'(', '-', '!', '?'}) {
    const std::string deep(100000, letter);
    CHECK(slots_of(deep, {}, {}, used) == 2 + 100000 / 12);
  }
}

GraphSlots slots_of_graph(std::vector<Operation> operations, const std::vector<Expr>& y) {
  const auto task = graph_task({input("x", {"a", "cols"}), output("y", y)}, std::move(operations),
                               {{"a", 3}, {"cols", 40}});
  REQUIRE(task);
  const auto site = graph_site(*task);
  REQUIRE(site);
  return graph_slots(*task, *site);
}

TEST_CASE("slots of a graph: its elements' and its rows'") {
  const auto relu = slots_of_graph({{"r", "relu", {"x"}, {"y"}}}, {"a", "cols"});
  CHECK(relu.element == 1);
  CHECK(relu.row == 0);
  const auto laid_out = graph_task({input("x", {"a", "cols"}), output("y", {"a", "cols"})},
                                   {{"r", "relu", {"x"}, {"y"}}}, {{"a", 3}, {"cols", 40}});
  REQUIRE(laid_out);
  CHECK(graph_slots(*laid_out, GraphSite()).element == 0);
  Operation mean{"m", "mean", {"x"}, {"y"}};
  mean.attributes["dim"] = std::vector<std::int64_t>{1};
  const auto rows = slots_of_graph({mean}, {"a"});
  CHECK(rows.element == 1);
  CHECK(rows.row == 9);
  CHECK(rows.operand == 0);
}

// n and m are equal, so that the operand has as many elements as the result.
TEST_CASE("slots of a graph: a map before a product is of the operand's elements") {
  const auto task =
      graph_task({input("x", {"a", "n"}), input("w", {"m", "n"}), output("y", {"a", "m"})},
                 {{"before", "gelu", {"x"}, {"h"}},
                  {"product", "linear", {"h", "w"}, {"z"}},
                  {"behind", "relu", {"z"}, {"y"}}},
                 {{"a", 3}, {"n", 40}, {"m", 40}});
  REQUIRE(task);
  const auto site = graph_site(*task);
  REQUIRE(site);
  const GraphSlots slots = graph_slots(*task, *site);
  CHECK(slots.operand == 22);
  CHECK(slots.element == slots.operand + 2);
  CHECK(slots.row == 1);
}

}  // namespace
}  // namespace cupilot
