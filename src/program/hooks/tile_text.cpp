#include "program/hooks/tile_text.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "program/hooks/affine.hpp"
#include "program/hooks/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t most_unrolled = 32;  // turns of all inner loops together

}  // namespace

TileText::TileText(const Task& task, const GraphSite& site) : StageText(task, site, true) {
  if (site.folds.size() == 1) find_axes();
}

bool TileText::depends(const StageRead& read, const std::string& axis) const {
  std::string places;
  for (const std::string& at : read.at) places += " " + at;
  if (read.at.empty()) {
    for (const auto& call : calls_of(read.name, fold().term)) {
      for (const std::string& at : call) places += " " + at;
    }
  }
  for (auto constant = fold().constants.rbegin(); constant != fold().constants.rend(); ++constant) {
    if (uses(places, constant->first)) places += " " + constant->second;
  }
  return uses(places, axis);
}

void TileText::find_axes() {
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text != "1") free_.push_back(axis);
  }
  if (free_.empty()) return;
  lane_ = static_cast<int>(free_.size()) - 1;
  for (int d = lane_; d-- > 0;) {
    const std::string& axis = free_[static_cast<std::size_t>(d)].name;
    int read = 0, dependent = 0;
    for (const StageRead& one : fold().reads) {
      if (!uses(fold().term, one.name)) continue;
      ++read;
      dependent += depends(one, axis) ? 1 : 0;
    }
    if (second_ < 0 && dependent > 0 && dependent < read) second_ = d;
  }
  // Else windows of neighbouring lines overlap.
  if (second_ < 0 && lane_ > 0) second_ = lane_ - 1;
}

std::optional<SiteTiles> TileText::tiles() const {
  if (site_.folds.size() != 1 || lane_ < 0 || site_.form == GraphForm::product) return std::nullopt;
  const SiteStage& one = sited(site_.folds[0]);
  const bool found = std::any_of(one.called.begin(), one.called.end(),
                                 [&](const SiteRead& read) { return uses(one.term, read.name); }) ||
                     std::any_of(one.reads.begin(), one.reads.end(), [&](const SiteRead& read) {
                       return read.kind == Kind::other && uses(one.term, read.name);
                     });
  const bool of_folds = std::any_of(one.reads.begin(), one.reads.end(), [&](const SiteRead& read) {
    return read.stage >= 0 && stage(read.stage).kind == StageKind::fold;
  });
  if (!found || of_folds || !outputs(StagePlace::full).empty()) return std::nullopt;
  SiteTiles out{.lane = free_.back().extent};
  if (second_ >= 0) out.second = free_[static_cast<std::size_t>(second_)].extent;
  return out;
}

std::string TileText::text() const {
  const std::vector<int> order = functions_of_fold();
  std::string out = opening() + folded_row_struct() + tile_struct();
  for (const int one : order) out += function(one);
  out += fold_tile() + store_folded() + store_tile() + extents() + "};\n";
  return out + fmt::format("using How = {};\n", combiner(site_.folds[0]));
}

// Coordinates of a tile's first result; tiles are counted along the last coordinate first.
std::string TileText::tile_struct() const {
  std::string members = "  struct Tile {\n", taken, all = "1";
  for (std::size_t d = 0; d < free_.size(); ++d) {
    members += fmt::format("    int {};\n", free_[d].name);
    const std::string extent = extent_call(free_[d].extent.text);
    const int at = static_cast<int>(d);
    const std::string count = at == lane_     ? fmt::format("(({} + N - 1) / N)", extent)
                              : at == second_ ? fmt::format("(({} + M - 1) / M)", extent)
                                              : extent;
    all += fmt::format(" * static_cast<long long>({})", count);
    const char* scale = at == lane_ ? " * N" : at == second_ ? " * M" : "";
    taken = fmt::format("    at.{0} = static_cast<int>(index % {1}){2};\n    index /= {1};\n",
                        free_[d].name, count, scale) +
            taken;
  }
  return members +
         "  };\n  template <int M, int N>\n  __device__ __forceinline__ long long tiles() "
         "const {\n    return " +
         all +
         ";\n  }\n  template <int M, int N>\n  __device__ __forceinline__ Tile tile(long long "
         "index) const {\n    Tile at;\n" +
         taken + "    return at;\n  }\n";
}

std::string TileText::loops(std::string& closing) const {
  std::string out;
  std::int64_t unrolled = 1;
  std::vector<std::string> opened;
  for (std::size_t d = fold().over.size(); d-- > 0;) {
    const StageAxis& axis = fold().over[d];
    if (axis.extent.text == "1") {
      opened.push_back(fmt::format("    constexpr int {} = 0;\n", axis.name));
      continue;
    }
    const std::int64_t extent = whole_number(axis.extent.text);
    const bool whole = extent > 0 && unrolled * extent <= most_unrolled;
    unrolled = whole ? unrolled * extent : most_unrolled + 1;
    opened.push_back(fmt::format(
        "#pragma unroll{2}\n    for (int {0} = 0; {0} < {1}; ++{0}) {{\n", axis.name,
        extent > 0 ? axis.extent.text : extent_call(axis.extent.text), whole ? "" : " 1"));
    closing += "    }\n";
  }
  for (auto text = opened.rbegin(); text != opened.rend(); ++text) out += *text;
  return out;
}

std::string TileText::fold_tile() const {
  std::string out =
      "  // `acc` with the terms of M results along one coordinate by N along the last.\n"
      "  template <int M, int N>\n  __device__ __forceinline__ void fold_tile(const Tile& tile, "
      "float (&acc)[M][N]) const {\n";
  std::string inner, outer, closing;
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") out += fmt::format("    constexpr int {} = 0;\n", axis.name);
  }
  for (std::size_t d = 0; d < free_.size(); ++d) {
    const std::string& name = free_[d].name;
    const int at = static_cast<int>(d);
    const std::string extent = extent_call(free_[d].extent.text);
    const char* format = "    const int first_{0} = max(0, min(tile.{0}, {1} - {2}));\n";
    const char* placed = is_guarded() && is_bounded(name)
                             ? "      const int {0} = first_{0} + {2};\n"
                             : "      const int {0} = min(first_{0} + {2}, {1} - 1);\n";
    if (at == lane_) {
      out += fmt::format(fmt::runtime(format), name, extent, "N");
      inner = fmt::format(fmt::runtime(placed), name, extent, "along_");
    } else if (at == second_) {
      out += fmt::format(fmt::runtime(format), name, extent, "M");
      outer = fmt::format(fmt::runtime(placed), name, extent, "down_");
    } else {
      out += fmt::format("    const int {0} = tile.{0};\n", name);
    }
  }
  ReferenceStage narrow = fold();
  for (auto& [name, value] : narrow.constants) value = narrowed(value);
  ReferenceStage sizes = narrow, constants = narrow;
  sizes.constants.clear();
  constants.sizes.clear();
  out += sizes_and_constants(sizes, "", true) + loops(closing);
  out += "#pragma unroll\n    for (int down_ = 0; down_ < M; ++down_) {\n" + outer +
         "#pragma unroll\n    for (int along_ = 0; along_ < N; ++along_) {\n" + inner +
         sizes_and_constants(constants, "", true) + added_term() + "    }\n    }\n";
  return out + closing + "  }\n";
}

// True if all places of a read are sums of coordinates times sizes: they lie within the tensor for
// every term, as a weight's do.
bool TileText::is_whole(const StageRead& read) const {
  AffineNames names;
  const auto is_axis = [](const std::vector<StageAxis>& axes, const std::string& name) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const StageAxis& axis) { return axis.name == name; });
  };
  names.is_coordinate = [&](const std::string& name) {
    return is_axis(fold().free, name) || is_axis(fold().over, name);
  };
  names.constant = [&](const std::string& name) -> std::string {
    for (const auto& [constant, value] : fold().constants) {
      if (constant == name) return value;
    }
    return "";
  };
  for (const auto& call : calls_of(read.name, fold().term)) {
    for (const std::string& at : call) {
      const auto found = affine_of(at, names);
      if (!found || found->rest != 0) return false;
      for (const auto& [name, factor] : found->factors) {
        if (factor && *factor < 0) return false;
      }
    }
  }
  return true;
}

// `condition ? part : …` of elements of inputs, where the last part reads nothing: the part's
// elements may be loaded whatever the condition says, where it fails the first one instead of those
// that places of a tile move. So one that several results share is loaded once.
bool TileText::is_guarded() const {
  const std::string& term = fold().term;
  const auto question = term.find(" ? "), colon = term.rfind(" : ");
  if (question == std::string::npos || colon == std::string::npos || colon < question ||
      !std::all_of(term.begin(), term.begin() + static_cast<std::ptrdiff_t>(question),
                   is_identifier_character))
    return false;
  return std::all_of(fold().reads.begin(), fold().reads.end(), [&](const StageRead& read) {
    if (!uses(term, read.name)) return true;
    const Tensor* tensor = find_tensor(task_, read.source);
    const bool computed =
        std::any_of(task_.reference.stages.begin(), task_.reference.stages.end(),
                    [&](const ReferenceStage& one) { return one.name == read.source; });
    return read.at.empty() && tensor != nullptr && !computed && tensor->role != Role::in_out &&
           tensor->type <= DType::e5m2 && !uses(term.substr(colon), read.name) &&
           (moves_in_tile(read) || is_whole(read));
  });
}

// True if the condition before the term depends on a coordinate: past its extent nothing is read.
bool TileText::is_bounded(const std::string& axis) const {
  const std::string& term = fold().term;
  std::string condition = term.substr(0, term.find(" ? "));
  for (auto constant = fold().constants.rbegin(); constant != fold().constants.rend(); ++constant) {
    if (uses(condition, constant->first)) condition += " " + constant->second;
  }
  return uses(condition, axis);
}

bool TileText::moves_in_tile(const StageRead& read) const {
  return depends(read, free_[static_cast<std::size_t>(lane_)].name) ||
         (second_ >= 0 && depends(read, free_[static_cast<std::size_t>(second_)].name));
}

// Adds a term to a result.
std::string TileText::added_term() const {
  const std::string term = narrowed(fold().term), how = combiner(site_.folds[0]);
  const char* add = "      acc[down_][along_] = {}::of(acc[down_][along_], {});\n";
  if (!is_guarded())
    return reads_by_coordinates(site_.folds[0]) + fmt::format(fmt::runtime(add), how, term);
  const auto question = term.find(" ? "), colon = term.rfind(" : ");
  const std::string condition = term.substr(0, question);
  std::string out;
  for (const StageRead& read : fold().reads) {
    if (!uses(term, read.name) || !moves_in_tile(read)) {
      out += reads_by_coordinates(site_.folds[0], read.name);
      continue;
    }
    SiteRead from{.name = read.name, .source = read.source, .extents = read.extents};
    std::string list;
    for (std::size_t d = 0; d < read.extents.size(); ++d) {
      from.at.push_back(fmt::format("i{}", d));
      list += fmt::format("{}int i{}", d == 0 ? "" : ", ", d);
    }
    out += fmt::format("      const auto {} = [&]({}) {{ return to_float({}[{} ? {} : 0]); }};\n",
                       read.name, list, storage_of(from), condition, storage_index(from));
  }
  out += fmt::format("      const float part = {};\n",
                     trimmed(term.substr(question + 3, colon - question - 3)));
  return out + fmt::format(fmt::runtime(add), how,
                           fmt::format("{} ? part{}", condition, term.substr(colon)));
}

std::string TileText::store_tile() const {
  std::string row = "0ll", inside = "true";
  for (std::size_t d = 0; d < free_.size(); ++d) {
    const int at = static_cast<int>(d);
    const std::string& name = free_[d].name;
    const std::string extent = extent_call(free_[d].extent.text);
    std::string place = "tile." + name;
    if (at == lane_ || at == second_) {
      // The last tile begins earlier than its own first result.
      const bool lane = at == lane_;
      place = fmt::format("(max(0, min(tile.{0}, {1} - {2})) + {3})", name, extent,
                          lane ? "N" : "M", lane ? "along_" : "down_");
      inside += fmt::format(" && {0} >= tile.{1} && {0} < {2}", place, name, extent);
    }
    row = fmt::format("({} * {} + {})", row, extent, place);
  }
  return fmt::format(
      "  template <int M, int N>\n  __device__ __forceinline__ void store_tile(const Tile& tile, "
      "const float (&acc)[M][N]) const {{\n#pragma unroll\n    for (int down_ = 0; down_ < M; "
      "++down_) {{\n"
      "#pragma unroll\n    for (int along_ = 0; along_ < N; ++along_) {{\n      if ({}) "
      "store_row(Row{{{}}}, "
      "acc[down_][along_]);\n    }}\n    }}\n  }}\n",
      inside, row);
}

std::optional<SiteTiles> tiles_of(const Task& task, const GraphSite& site) {
  return TileText(task, site).tiles();
}

std::string tile_text(const Task& task, const GraphSite& site) {
  return TileText(task, site).text();
}

}  // namespace cupilot
