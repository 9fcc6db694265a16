// `struct Graph` of a graph that falls into independent rows, whose folds may be of several parts
// of a row: everything is found by coordinates, results of folds are kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/hooks/graph_text.hpp"
#include "program/hooks/stage_text.hpp"

namespace cupilot {

class LocalText : public StageText {
 public:
  // `site` has no stages; its folds are those of the graph.
  LocalText(const Task& task, const GraphSite& site);

  std::optional<SiteLocal> local() const;
  std::string text() const;

 private:
  bool find_rows();
  bool find_row(std::size_t number);
  bool reads_again(int fold) const;
  int source_of(std::size_t reader, const std::string& name) const;
  // Axes with more than one place, but for the one that counts rows.
  std::vector<StageAxis> within(int number) const;
  std::string coordinates_of(int number, const char* index) const;
  std::string fold_access() const;
  std::string fold_functions() const;
  std::string output_functions() const;
  std::vector<int> output_stages() const;

  bool found_ = false;
  std::vector<int> row_axis_{};  // of each stage's free axes; -1: it depends on no row's fold
  Expr rows_ = 1;
};

}  // namespace cupilot
