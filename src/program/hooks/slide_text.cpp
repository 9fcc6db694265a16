#include "program/hooks/slide_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "task/content.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr const char* slide_hook = "  __device__ __forceinline__";
constexpr const char* side_names[] = {"column", "row", "plane"};  // the last of a tensor first
constexpr const char* side_numbers[] = {"COLUMN", "ROW", "PLANE"};

bool is_axis_of(const std::vector<StageAxis>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const StageAxis& axis) { return axis.name == name; });
}

}  // namespace

SlideText::SlideText(const Task& task, const GraphSite& site) : StageText(task, site, true) {
  keeps_coordinates_ = true;
  found_ = site.folds.size() == 1 && outputs(StagePlace::full).empty() && find_element() &&
           find_sides() && (factor_ == nullptr || find_factor());
}

// `real(x(…))`, whole; empty: another text.
const StageRead* SlideText::read_of(const std::string& text, std::vector<std::string>& at) const {
  for (const StageRead& read : fold().reads) {
    const std::string opening = "real(" + read.name + "(";
    if (!text.starts_with(opening) || !read.at.empty()) continue;
    std::size_t close = 0;
    at = arguments_at(text, opening.size() - 1, close);
    if (close + 2 == text.size() && at.size() == read.extents.size()) return &read;
  }
  return nullptr;
}

// `inside ? real(x(…)) : other`, where the last part reads nothing, or `inside ? real(x(…)) *
// real(w(…)) : real(0)`.
bool SlideText::find_element() {
  const std::string& term = fold().term;
  const auto question = outer_place(term, "?"), colon = outer_place(term, ":");
  if (question == std::string::npos || colon == std::string::npos || colon < question) return false;
  condition_ = trimmed(term.substr(0, question));
  other_ = trimmed(term.substr(colon + 1));
  const std::string element = trimmed(term.substr(question + 1, colon - question - 1));
  const auto times = outer_place(element, " * ");
  read_ = read_of(trimmed(element.substr(0, times)), at_);
  if (times != std::string::npos) {
    factor_ = read_of(trimmed(element.substr(times + 3)), factor_at_);
    if (factor_ == nullptr || other_ != "real(0)" || fold().combine != Combine::sum) return false;
  }
  if (read_ == nullptr) return false;
  for (const StageRead& read : fold().reads) {
    if (uses(other_, read.name) || uses(condition_, read.name)) return false;
  }
  for (const auto* axes : {&fold().free, &fold().over}) {
    for (const StageAxis& axis : *axes) {
      if (uses(other_, axis.name)) return false;
    }
  }
  return true;
}

// A factor's element depends on the outer place, the plane and the tap of a row and a column alone,
// and is finite: it meets zeros that stand for what lies outside of the tensor.
bool SlideText::find_factor() const {
  const Tensor* tensor = find_tensor(task_, factor_->source);
  if (tensor == nullptr || tensor->role == Role::out || tensor->role == Role::in_out ||
      !stays_finite(task_, *tensor))
    return false;
  std::string places;
  for (const std::string& at : factor_at_) places += " " + at;
  if (std::any_of(fold().constants.begin(), fold().constants.end(),
                  [&](const auto& constant) { return uses(places, constant.first); }))
    return false;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const Side& side = *patch_side(i);
    if (i < 2 && uses(places, side.place.name)) return false;
    if (i >= 2 && side.taps > 1) return false;
  }
  return true;
}

AffineNames SlideText::affine_names() const {
  AffineNames out;
  const auto extends = [this](const std::string& name) {
    for (const auto* axes : {&fold().free, &fold().over}) {
      for (const StageAxis& axis : *axes) {
        if (axis.name == name) return axis.extent.text == "1" ? 1 : 2;
      }
    }
    return 0;
  };
  out.is_coordinate = [extends](const std::string& name) { return extends(name) == 2; };
  out.constant = [this, extends](const std::string& name) -> std::string {
    if (extends(name) == 1) return "0";
    for (const auto& [constant, value] : fold().constants) {
      if (constant == name) return value;
    }
    for (const StageAxis& size : fold().sizes) {
      if (size.name == name && whole_number(size.extent.text) > 0) return size.extent.text;
    }
    return "";
  };
  return out;
}

std::optional<SlideText::Side> SlideText::side_of(std::size_t dimension) const {
  const auto index = affine_of(at_[dimension], affine_names());
  if (!index || !index->is_known()) return std::nullopt;
  Side side{.dimension = dimension, .begin = *index->rest};
  for (const auto& [name, factor] : index->factors) {
    if (factor == 0) continue;
    if (*factor < 0) return std::nullopt;
    const bool place = is_axis_of(fold().free, name);
    StageAxis& axis = place ? side.place : side.tap;
    if (!axis.name.empty()) return std::nullopt;
    for (const StageAxis& one : place ? fold().free : fold().over) {
      if (one.name == name) axis = one;
    }
    (place ? side.step : side.far) = *factor;
  }
  if (!side.tap.name.empty()) side.taps = whole_number(side.tap.extent.text);
  return side.taps < 1 ? std::nullopt : std::optional(side);
}

// Every place and tap has a dimension of its own, and dimensions are in the order of places.
bool SlideText::find_sides() {
  std::vector<std::string> places, taps;
  for (std::size_t d = 0; d < at_.size(); ++d) {
    const auto side = side_of(d);
    if (!side) return false;
    if (!side->place.name.empty()) places.push_back(side->place.name);
    if (!side->tap.name.empty()) taps.push_back(side->tap.name);
    const bool one = side->place.name.empty() && side->tap.name.empty() && side->begin == 0;
    if (!one || d + 1 == at_.size()) sides_.push_back(*side);
  }
  std::vector<std::string> wanted;
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text != "1") wanted.push_back(axis.name);
  }
  std::size_t terms = 0;
  for (const StageAxis& axis : fold().over) {
    terms += axis.extent.text == "1" ? 0 : 1;
    if (axis.extent.text != "1" && std::count(taps.begin(), taps.end(), axis.name) != 1)
      return false;
  }
  if (places != wanted || terms != taps.size() || sides_.size() > 4) return false;
  // Dimensions before planes are whole.
  if (sides_.size() == 4 && (sides_[0].taps > 1 || sides_[0].step > 1 || sides_[0].begin != 0))
    return false;
  const auto clauses = clauses_of(condition_, fold().constants);
  return std::all_of(clauses.begin(), clauses.end(),
                     [this](const std::string& clause) { return is_bound(clause); });
}

// True for conditions that say no more than that an index lies within its dimension.
bool SlideText::is_bound(const std::string& clause) const {
  const auto sides = [&](const std::string& by) {
    const std::size_t at = clause.find(by);
    return at == std::string::npos
               ? std::vector<std::string>{}
               : std::vector<std::string>{trimmed(clause.substr(0, at)),
                                          trimmed(clause.substr(at + by.size()))};
  };
  if (const auto least = sides(">="); !least.empty())
    return least[1] == "0" && std::find(at_.begin(), at_.end(), least[0]) != at_.end();
  const auto most = sides("<");
  if (most.empty()) return false;
  for (std::size_t d = 0; d < at_.size(); ++d) {
    for (const StageAxis& size : fold().sizes) {
      if (at_[d] == most[0] && size.name == most[1] && size.extent == read_->extents[d])
        return true;
    }
  }
  return false;
}

std::int64_t SlideText::apart_of(const Side& side) {
  return side.far / std::gcd(side.step, side.far);
}

const SlideText::Side* SlideText::patch_side(std::size_t from_last) const {
  return from_last < sides_.size() ? &sides_[sides_.size() - 1 - from_last] : nullptr;
}

std::optional<SiteSlide> SlideText::slide() const {
  if (!found_) return std::nullopt;
  SiteSlide out;
  SiteSlideSide* to[] = {&out.columns, &out.rows, &out.planes};
  for (std::size_t i = 0; i < 3; ++i) {
    const Side* side = patch_side(i);
    if (side == nullptr) continue;
    if (!side->place.name.empty()) to[i]->extent = side->place.extent;
    to[i]->step = side->step;
    to[i]->taps = side->taps;
    to[i]->reach = side->far * (side->taps - 1);
    to[i]->apart = apart_of(*side);
    to[i]->begin = side->begin;
  }
  if (const Side* outer = patch_side(3); outer != nullptr) out.outer = outer->place.extent;
  out.weighted = factor_ != nullptr;
  return out;
}

std::string SlideText::text() const {
  std::string out = opening() + folded_row_struct() + numbers();
  for (const int one : functions_of_fold()) out += function(one);
  out += values() + factor() + store_folded() + store() + extents() + "};\n";
  return out + fmt::format("using How = {};\n", combiner(site_.folds[0]));
}

// The factor of an element of a window.
std::string SlideText::factor() const {
  const bool weighted = factor_ != nullptr;
  std::string body;
  for (const auto* axes : {&fold().free, &fold().over}) {
    for (const StageAxis& axis : *axes) {
      std::string value = "0";
      for (std::size_t i = 0; i < sides_.size() && axis.extent.text != "1"; ++i) {
        if (patch_side(i)->place.name == axis.name)
          value = i == 3 ? "outer" : i == 2 ? "plane" : "";
        if (patch_side(i)->tap.name == axis.name) value = i == 1 ? "row_tap" : "column_tap";
      }
      if (!value.empty()) body += fmt::format("      const int {} = {};\n", axis.name, value);
    }
  }
  std::string places;
  for (const std::string& at : factor_at_) places += (places.empty() ? "" : ", ") + at;
  if (weighted)
    body += sizes_and_constants(fold(), places, false) +
            reads_by_coordinates(site_.folds[0], factor_->name);
  return fmt::format(
      "{} float factor(int outer, int plane, int row_tap, int column_tap) const {{\n{}      "
      "return {};\n  }}\n",
      slide_hook, weighted ? body : "",
      weighted ? fmt::format("real({}({}))", factor_->name, places) : "1.0f");
}

std::string SlideText::numbers() const {
  std::string out = fmt::format("  static constexpr bool WEIGHTED = {};\n", factor_ != nullptr);
  for (std::size_t i = 0; i < 3; ++i) {
    const Side one, *side = patch_side(i) != nullptr ? patch_side(i) : &one;
    for (const auto& [name, value] : {std::pair{"STEP", side->step},
                                      {"FAR", side->far},
                                      {"TAPS", side->taps},
                                      {"BEGIN", side->begin},
                                      {"APART", apart_of(*side)}})
      out += fmt::format("  static constexpr int {}_{} = {};\n", side_numbers[i], name, value);
    out += fmt::format(
        "{} int {}s() const {{ return {}; }}\n", slide_hook, side_names[i],
        side->place.name.empty() ? std::string("1") : extent_call(side->place.extent.text));
  }
  return out;
}

// Four neighbouring elements of a row, whatever its ends. WIDE: rows are whole quads, and `column`
// is a multiple of four.
std::string SlideText::values() const {
  SiteRead from{.name = read_->name, .source = read_->source, .extents = read_->extents};
  std::string inside = "true", list;
  for (std::size_t d = 0; d < at_.size(); ++d) from.at.emplace_back("0");
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const Side& side = *patch_side(i);
    from.at[side.dimension] = i == 0 ? "at_column" : i == 3 ? "outer" : side_names[i];
    if (i == 1 || i == 2)
      inside += fmt::format(" && {0} >= 0 && {0} < {1}", side_names[i],
                            extent_call(read_->extents[side.dimension].text));
  }
  for (const std::string& at : from.at) list += (list.empty() ? "" : ", ") + at;
  const Tensor* tensor = find_tensor(task_, read_->source);
  const bool computed =
      std::any_of(task_.reference.stages.begin(), task_.reference.stages.end(),
                  [&](const ReferenceStage& one) { return one.name == read_->source; });
  const bool wide = tensor != nullptr && !computed && tensor->role != Role::in_out &&
                    tensor->type <= DType::e5m2 && size_of(tensor->type) <= 4;
  const std::string length = extent_call(read_->extents[patch_side(0)->dimension].text);
  std::string out = fmt::format("{} bool is_wide() const {{ return {}; }}\n", slide_hook,
                                wide ? length + " % 4 == 0" + aligned_view(*tensor, 4) : "false");
  out += fmt::format(
      "  template <bool WIDE>\n{} void values(int outer, int plane, int row, int column, float "
      "(&out)[4]) const {{\n    const bool inside_ = {};\n    const int length_ = {};\n",
      slide_hook, inside, length);
  if (wide)
    out += fmt::format(
        "    if constexpr (WIDE) {{\n      const int at_column = column;\n"
        "      const bool here_ = inside_ && column >= 0 && column < length_;\n"
        "      const auto four = load_vector<T_{0}, 4>({3} + (here_ ? {1} : 0));\n"
        "#pragma unroll\n      for (int each_ = 0; each_ < 4; ++each_) out[each_] = here_ ? "
        "to_float(four.at[each_]) : {2};\n      return;\n    }}\n",
        read_->source, storage_index(from), other_, storage_of(from));
  const std::string element =
      wide ? fmt::format("to_float({}[here_ ? {} : 0])", storage_of(from), storage_index(from))
           : fmt::format("real({}({}))", read_->name, list);
  return out + (wide ? "" : reads_by_coordinates(site_.folds[0], read_->name)) +
         fmt::format(
             "#pragma unroll\n    for (int each_ = 0; each_ < 4; ++each_) {{\n"
             "      const int at_column = column + each_;\n"
             "      const bool here_ = inside_ && at_column >= 0 && at_column < length_;\n"
             "      out[each_] = here_ ? {} : {};\n    }}\n  }}\n",
             element, other_);
}

std::string SlideText::store() const {
  std::string row = "0ll", members;
  for (const StageAxis& axis : fold().free) {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      if (axis.extent.text == "1" || patch_side(i)->place.name != axis.name) continue;
      const char* name = i == 3 ? "outer" : side_names[i];
      row = row == "0ll" ? fmt::format("static_cast<long long>({})", name)
                         : fmt::format("({} * {} + {})", row, extent_call(axis.extent.text), name);
      members += fmt::format(", {}", name);
    }
  }
  return fmt::format(
      "{} void store(int outer, int plane, int row, int column, float acc) const {{\n"
      "    store_row(Row{{{}{}}}, acc);\n  }}\n",
      slide_hook, row, members);
}

std::optional<SiteSlide> slide_of(const Task& task, const GraphSite& site) {
  return SlideText(task, site).slide();
}

std::string slide_text(const Task& task, const GraphSite& site) {
  return SlideText(task, site).text();
}

}  // namespace cupilot
