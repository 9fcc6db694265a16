// Finds the product of two matrices in a graph, and what follows it.
#pragma once

#include <optional>
#include <string>

#include <cupilot/task.hpp>

namespace cupilot {

struct GraphProduct {
  std::string a{}, b{};                     // tensors: batch x m x k, batch x k x n
  bool turned_a = false, turned_b = false;  // k x m, n x k
  Expr batch = 1, m = 1, n = 1, k = 1;
  // Bits that tell places along k where square operands, triangles by the task's declaration, are
  // not zero: in a row of a from the row's own on or up to it; in a column of b likewise.
  static constexpr int from_row = 1, to_row = 2, from_column = 4, to_column = 8;
  int spans = 0;
  // The task with the product's stage a map whose text names the finished sum `acc`.
  Task rest{};
};

// nullopt: the graph's one fold is no sum of products of two dense tensors, or its elements lie
// otherwise than row after row of matrix after matrix.
std::optional<GraphProduct> graph_product(const Task& task);

}  // namespace cupilot
