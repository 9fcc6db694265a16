// Stages of a reference as text of a kernel's `struct Graph`: what all forms of it share.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/graph_site.hpp"

namespace cupilot {

// The text with whole numbers of 32 bits.
std::string narrowed(const std::string& text);

// Elements of the largest tensor.
Expr largest_of(const Task& task);

// The largest tensor that elements may be counted in by whole numbers of 32 bits; at such a time
// shape kernels with narrow coordinates count in 64 bits.
inline constexpr std::int64_t most_narrow = 2147483647, most_wide = std::int64_t{1} << 40;
bool counts_wide(const Task& task);

class StageText {
 public:
  // narrow: coordinates are of 32 bits.
  StageText(const Task& task, const GraphSite& site, bool narrow = false)
      : task_(task), site_(site), narrow_(narrow) {}

  // Stages that are outputs with such a place.
  std::vector<int> outputs(StagePlace place) const;

 protected:
  // Loads N neighbours of a tensor into `values`; with a hint where no thread writes it.
  std::string loaded(const std::string& tensor) const;
  using Kind = SiteRead::Kind;

  // Neighbours are of several rows.
  bool down() const;
  std::string opening() const;
  std::string parameters() const;
  std::string members() const;
  const ReferenceStage& stage(int number) const;
  const SiteStage& sited(int number) const;
  // Stages that readers compute by coordinates: each a function.
  std::string functions() const;
  void functions_read(const SiteStage& one, std::vector<int>& order) const;
  void add_function(int number, std::vector<int>& order) const;
  // Stages that the one fold and all that is computed beside it read as functions, in order.
  std::vector<int> functions_of_fold() const;
  std::string function(int number) const;
  // Names that a stage's own text uses, as values and functions of coordinates in scope.
  // `text`: those that it uses; empty: all.
  std::string reads_by_coordinates(int number, const std::string& text = "") const;
  // Stages that are computed where they are read: all but folds, in order, with `number` last.
  void needed(int number, std::vector<int>& order) const;
  std::string converted(const std::string& tensor, const std::string& element) const;
  // Extents by functions: coordinates in scope may have the names of axes.
  std::string index_text(const SiteRead& read) const;
  // True for a view's element whose place among the storage's follows from its coordinates.
  bool is_strided(const SiteRead& read) const;
  // A read's element: its tensor's storage, and its index there.
  std::string storage_of(const SiteRead& read) const;
  std::string storage_index(const SiteRead& read) const;
  // A tensor's element or a stage's value at the coordinates of a read.
  std::string by_coordinates(const SiteRead& read) const;
  std::string value(const SiteRead& read) const;
  std::string run_name(const SiteRead& read) const;
  std::vector<int> all_stages() const;
  // Tensors that stages read at the element itself, by name.
  std::set<std::string> held(const std::vector<int>& stages) const;
  // Runs that stages read, by name.
  std::map<std::string, const SiteRead*> runs(const std::vector<int>& stages) const;
  // `text` with what it needs: places of its reads, constants, what these need in turn.
  std::string with_needs(const SiteStage& one, const ReferenceStage& what,
                         const std::string& text) const;
  static const std::vector<StageAxis>& axes_of(const SiteStage& one, const ReferenceStage& what,
                                               bool per_row);
  // Coordinates of element `first + i`, or of the row where the stage has one value a row.
  std::string coordinates(const SiteStage& one, const ReferenceStage& what, bool per_row) const;
  // True if coordinate d of a fold's elements is their place in a row, of columns.
  bool runs_down(const ReferenceStage& fold, const std::vector<StageAxis>& axes,
                 std::size_t d) const;
  std::string kept_coordinates() const;  // of the fold's row, from its members
  const char* whole() const;             // type of coordinates
  std::string extent_call(const std::string& extent) const;
  std::size_t extent_number(const std::string& extent) const;
  // `text` over a stage's reads, as the value of a new constant.
  std::string computed(int number, const std::string& text, const std::string& name,
                       bool per_row) const;
  // Those that `text` uses, or all.
  // Sizes are of coordinates' type unless `wide`.
  std::string sizes_and_constants(const ReferenceStage& what, const std::string& text, bool all,
                                  bool wide = false) const;
  std::string called(const SiteRead& read) const;
  // Tensors of columns and cycles that stages of `order` read, and where their elements lie.
  std::map<std::string, std::string> column_places(const std::vector<int>& order) const;
  // Loads them, once for N elements.
  std::string columns(const std::vector<int>& order, const char* load = "load_vector") const;
  std::string stages_before(const std::vector<int>& order, int last) const;
  // The only fold of a graph with one.
  const ReferenceStage& fold() const { return stage(site_.folds[0]); }
  std::string folded_row_struct() const;
  // store_row(row, acc): finishes the fold, computes and stores what follows.
  std::string store_folded() const;
  std::string extents() const;
  const char* combiner(int number) const;

  const Task& task_;
  const GraphSite& site_;
  const bool narrow_;
  bool keeps_coordinates_ = false;  // a row of the fold has its coordinates as members
  mutable std::vector<std::string> extents_;
};

}  // namespace cupilot
