// Finds values that are weighed by the normalised exponentials of scores, themselves products of
// queries and keys, in a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/product.hpp"

namespace cupilot {

struct GraphWeighted {
  // Queries (batch x m x k) by keys (batch x n x k). Its `rest` makes the scores of the sums: they
  // stand where the task has its output, one a query and a key.
  GraphProduct scores{};
  std::string values{}, output{};  // tensors: batch x n x out, batch x m x out
  Expr out = 1;
  // Extents of both products that agree at the task's shapes, and have to at others.
  std::vector<Expr> equalities{};
};

// nullopt: the graph is something else, or its tensors lie otherwise.
std::optional<GraphWeighted> graph_weighted(const Task& task);

}  // namespace cupilot
