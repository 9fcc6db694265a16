// Convolutions as tasks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "support/graph.hpp"

namespace cupilot {

using Integers = std::vector<std::int64_t>;

inline const std::vector<Expr> plane = {"n", "ch", "h", "w"};

struct Window {
  const char* kind;
  std::vector<Expr> x, weight, result;
  std::map<std::string, Attribute> attributes{};
};

// A convolution with a bias and an operator behind it; `before`: one in front of it too.
inline Task window_task(const Window& window, const Sizes& sizes, Precision precision,
                        bool before = false) {
  using support::input;
  std::vector<Operation> operations;
  if (before) operations.push_back({"before", "relu", {"x"}, {"r"}});
  operations.push_back(
      {"conv", window.kind, {before ? "r" : "x", "k", "b"}, {"c"}, window.attributes});
  operations.push_back({"act", "tanh", {"c"}, {"y"}});
  auto task =
      support::graph_task({input("x", window.x), input("k", window.weight),
                           input("b", {window.result[1]}), support::output("y", window.result)},
                          std::move(operations), sizes, precision);
  REQUIRE(task);
  return *task;
}

}  // namespace cupilot
