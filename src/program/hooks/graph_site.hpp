// Lays a task's graph out in rows of elements: the one shape of iteration that templates with hooks
// have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// full: a value for each element; row: one for each row; whole: one of all rows.
enum class StagePlace { full, row, whole };

// A value that a stage's text uses, its calls replaced by names.
struct SiteRead {
  // element: of the same element; row: of the same row; column: of the same place of every row;
  // cycle: of the element's last coordinates, again and again; scanned: of the same row's scan, at
  // the last coordinate; whole: of all rows; run: of a tensor's same row, at a place along it that
  // is the element's own, moved or counted from the end; other: found by coordinates.
  enum class Kind { element, row, column, cycle, scanned, whole, run, other };
  Kind kind = Kind::other;
  std::string name{};           // in the text
  std::string source{};         // a tensor or a stage
  int stage = -1;               // of the source; -1: a tensor
  std::vector<Expr> extents{};  // of the source
  std::vector<std::string> at{};
  Expr pitch = 1;  // run: elements of the tensor's row
  bool back = false;
  Expr moved_by = 0;  // run: the place without the element's own; back: which that is taken from
};

struct SiteStage {
  StagePlace place = StagePlace::full;
  bool apart = false;  // a map that has no place: its readers compute it at their coordinates
  std::vector<StageAxis> coordinates{};  // of an element; of a fold with those it runs over
  std::string term{}, finish{};
  std::vector<SiteRead> reads{};
  std::vector<SiteRead> called{};  // names that the text still calls, by coordinates
};

// Layout of elements in memory. rows: row after row. parted: every row's elements in equal parts,
// part after part, row after row within each. columns: `inner` neighbours belong to as many rows.
// product: rows of a matrix product.
enum class GraphForm { rows, parted, columns, product };

struct GraphSite {
  GraphForm form = GraphForm::rows;
  Expr rows = 1, cols = 1;
  Expr inner = 1;                   // parted: of a part; columns: neighbouring rows
  bool flat = false;                // one row: every read is of the same element
  std::vector<SiteStage> stages{};  // as in the reference
  std::vector<int> folds{};         // of a row's elements, in order
  std::vector<int> joins{};         // folds of what the rows gave, in order
  int scan = -1;                    // the one scan; its graph has no folds
  Expr scan_cols = 1;               // terms of a row's scan
  // Outputs read the scan at their own column or the one before it, counted from the end where
  // `scan_back`.
  bool scan_near = false, scan_back = false;
};

// nullopt: the graph has folds of several kinds of rows, several scans, several shapes of outputs,
// a stage that reads a fold elsewhere than at its own row, or a row that reads a join.
std::optional<GraphSite> graph_site(const Task& task);

// Lays out what follows a product of so many rows and columns: a graph of maps alone.
std::optional<GraphSite> graph_site(const Task& task, const Expr& rows, const Expr& cols);

}  // namespace cupilot
