// `struct Graph` of a sum of products whose factors are found by coordinates: a convolution as a
// product of matrices that nothing writes down.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/hooks/affine.hpp"
#include "program/hooks/graph_text.hpp"
#include "program/hooks/stage_text.hpp"

namespace cupilot {

class ContractionText : public StageText {
 public:
  ContractionText(const Task& task, const GraphSite& site);

  std::optional<SiteContraction> contraction() const;
  std::string text() const;

 private:
  using Axes = std::vector<StageAxis>;

  // Terms of a place exist where (place + known.rest + factor * tap) % step is 0: places of one
  // remainder, a phase, have the same taps.
  struct Phase {
    std::string place{}, tap{};
    std::int64_t step = 1;
    Affine known{};
  };
  // A factor that is an element of a tensor whose index is affine in all coordinates.
  struct Direct {
    std::string tensor{}, storage{}, index{};  // the index is one of the storage
  };
  // Conditions on one tap of a place, and the first of its bits.
  struct Tap {
    StageAxis axis{};
    std::vector<std::string> clauses{};
    int bit = 0;
  };

  // A dimension of the left factor's tensor along which places lie `step` apart and taps, if there
  // are any, `far`: within a phase.
  struct Side {
    std::size_t dimension = 0;
    StageAxis place{}, tap{};
    std::int64_t step = 1, far = 0, taps = 1;
    // The reach of all phases' taps at neighbouring places; a phase's remainder and its tap are the
    // first of them.
    std::int64_t all_reach = 0, first_rest = 0, first_tap = 0;
  };
  // A left factor that is read at places and taps of such dimensions, and at a channel: all terms
  // of neighbouring places lie in one patch. Sides are in the order of places, the last of them are
  // the columns and the one before the rows of a patch.
  struct Window {
    const StageRead* read = nullptr;
    std::vector<std::string> at{};
    std::vector<Side> sides{};
    StageAxis channel{};
  };

  // Coordinates that a text depends on, through constants too.
  std::set<std::string> axes_of(const std::string& text) const;
  bool find_factors();
  bool place_axes(const std::set<std::string>& left, const std::set<std::string>& right);
  std::vector<std::string> clauses_of(const std::string& condition) const;
  AffineNames affine_names() const;
  void find_phases();
  void find_direct();
  bool find_taps();
  std::optional<Direct> direct(const std::string& factor) const;
  void find_window();
  bool add_dimension(Window& window, std::size_t dimension) const;
  static void span_phases(Side& side, const Phase& phase, std::int64_t taps);
  bool order_sides(Window& window) const;
  bool is_bound(const Window& window, const std::string& clause) const;
  const Side* patch_side(bool rows) const;
  std::vector<Side> outer_sides() const;
  std::optional<SiteWindow> window() const;
  std::string side_extent(const Side& side) const;
  std::string count_of_taps(const Side& side) const;
  std::string window_numbers() const;
  std::string window_place(const char* name, const Side* side) const;
  std::string first_place(const char* name, const Side* side) const;
  SiteWindowSide site_side(const Side& side) const;
  std::string window_slice() const;
  std::string window_values() const;
  std::string window_term() const;
  std::string window_functions() const;
  const Phase* phase_of(const std::string& axis) const;
  Expr extent_in_phase(const StageAxis& axis) const;

  int planes() const;
  // Declarations of coordinates as parameters, and what a text over them needs before it.
  std::string parameters_of(const std::vector<const Axes*>& axes) const;
  std::string needs_of(const std::string& text) const;
  std::string ones() const;
  std::string batch_struct() const;
  std::string taken(const Axes& axes) const;
  std::string place_struct(const char* type, const char* function, const Axes& axes,
                           const std::optional<Direct>& what) const;
  std::string term_struct() const;
  std::string direct_term() const;
  std::string index_function(const char* name, const Axes& axes, const Direct& what) const;
  std::string index_call(const char* name, const Axes& axes, bool at, bool term) const;
  std::string inside_functions() const;
  std::string row_of(const Axes& axes) const;
  std::string factor(const char* name, const char* type, const Axes& axes,
                     const std::string& text) const;
  std::string factors() const;
  std::string store() const;

  bool found_ = false;
  std::string a_{}, b_{}, condition_{};  // texts of the factors; the left one's condition
  Axes batch_{}, m_{}, n_{}, k_{};
  std::vector<Phase> phases_{};
  std::vector<Tap> taps_{};
  std::vector<std::string> place_clauses_{};  // conditions without a tap
  std::optional<Direct> left_{}, right_{};    // both or none
  std::optional<Window> window_{};
};

}  // namespace cupilot
