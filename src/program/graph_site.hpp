// Lays a task's graph out in rows of elements: the one shape of iteration that templates with hooks
// have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// full: a value for each element; row: one for each row.
enum class StagePlace { full, row };

// A value that a stage's text uses, its calls replaced by names.
struct SiteRead {
  // element: of the same element; row: of the same row; column: of the same place of every row;
  // other: found by coordinates.
  enum class Kind { element, row, column, other };
  Kind kind = Kind::other;
  std::string name{};           // in the text
  std::string source{};         // a tensor or a stage
  int stage = -1;               // of the source; -1: a tensor
  std::vector<Expr> extents{};  // other
  std::vector<std::string> at{};
};

struct SiteStage {
  StagePlace place = StagePlace::full;
  std::vector<StageAxis> coordinates{};  // of an element; of a fold with those it runs over
  std::string term{}, finish{};
  std::vector<SiteRead> reads{};
  std::vector<SiteRead> called{};  // names that the text still calls: tensors by coordinates
};

struct GraphSite {
  Expr rows = 1, cols = 1;
  bool flat = false;                // one row: every read is of the same element
  std::vector<SiteStage> stages{};  // as in the reference
  std::vector<int> folds{};         // in order
};

// nullopt: the graph has scans, folds of other rows, several shapes of outputs, or a stage that
// reads another one elsewhere than at its own element or row.
std::optional<GraphSite> graph_site(const Task& task);

}  // namespace cupilot
