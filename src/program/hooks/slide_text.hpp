// `struct Graph` of a fold over windows that slide over one tensor, in patches: a pool, or a sum of
// elements times factors of a window's taps, as of a depthwise convolution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/hooks/affine.hpp"
#include "program/hooks/graph_text.hpp"
#include "program/hooks/stage_text.hpp"

namespace cupilot {

class SlideText : public StageText {
 public:
  SlideText(const Task& task, const GraphSite& site);

  std::optional<SiteSlide> slide() const;
  std::string text() const;

 private:
  // A dimension of the tensor: windows begin at `begin` and lie `step` apart, their elements `far`.
  struct Side {
    std::size_t dimension = 0;
    StageAxis place{}, tap{};  // without a name: there is one
    std::int64_t step = 1, far = 1, taps = 1, begin = 0;
  };

  const StageRead* read_of(const std::string& text, std::vector<std::string>& at) const;
  bool find_element();
  bool find_sides();
  bool find_factor() const;
  std::optional<Side> side_of(std::size_t dimension) const;
  bool is_bound(const std::string& clause) const;
  AffineNames affine_names() const;
  // Sides of a patch: its columns, its rows and the planes that it walks; null: there is one.
  const Side* patch_side(std::size_t from_last) const;
  // Counts the places between two whose windows share elements.
  static std::int64_t apart_of(const Side& side);
  std::string numbers() const;
  std::string values() const;
  std::string factor() const;
  std::string store() const;

  bool found_ = false;
  const StageRead* read_ = nullptr;
  std::string condition_{}, other_{};  // of an element, and the value where it fails
  std::vector<std::string> at_{};
  const StageRead* factor_ = nullptr;  // null: elements are folded as they are
  std::vector<std::string> factor_at_{};
  std::vector<Side> sides_{};  // the last is the columns'
};

}  // namespace cupilot
