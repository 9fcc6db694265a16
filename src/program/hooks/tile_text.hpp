// `struct Graph` of a graph whose one fold finds its terms by coordinates: its results in tiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/hooks/graph_text.hpp"
#include "program/hooks/stage_text.hpp"

namespace cupilot {

class TileText : public StageText {
 public:
  TileText(const Task& task, const GraphSite& site);

  std::optional<SiteTiles> tiles() const;
  std::string text() const;

 private:
  // True if a read of the fold depends on a coordinate, through constants too.
  bool depends(const StageRead& read, const std::string& axis) const;
  void find_axes();
  std::string tile_struct() const;
  std::string loops(std::string& closing) const;
  std::string fold_tile() const;
  bool is_whole(const StageRead& read) const;
  bool is_guarded() const;
  bool is_bounded(const std::string& axis) const;
  bool moves_in_tile(const StageRead& read) const;
  std::string added_term() const;
  std::string store_tile() const;

  std::vector<StageAxis> free_{};  // with more than one place
  int lane_ = -1, second_ = -1;    // of these
};

}  // namespace cupilot
