// Contractions whose left factor is read in patches: their form, and the functions that find a
// patch's elements.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "program/hooks/contraction_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

constexpr const char* qualified = "  __device__ __forceinline__";

const StageAxis* axis_in(const std::vector<StageAxis>& axes, const std::string& name) {
  const auto found = std::find_if(axes.begin(), axes.end(),
                                  [&](const StageAxis& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

// The sides of a comparison; empty: there is none of that kind.
std::vector<std::string> compared(const std::string& clause, const std::string& by) {
  const std::size_t at = clause.find(by);
  if (at == std::string::npos) return {};
  return {trimmed(clause.substr(0, at)), trimmed(clause.substr(at + by.size()))};
}

}  // namespace

void ContractionText::find_window() {
  for (const StageRead& read : fold().reads) {
    const std::string opening = "real(" + read.name + "(";
    if (!read.at.empty() || !a_.starts_with(opening) || !a_.ends_with("))")) continue;
    std::size_t close = 0;
    Window found{.read = &read, .at = arguments_at(a_, opening.size() - 1, close)};
    if (close + 2 != a_.size() || found.at.size() != read.extents.size()) return;
    for (std::size_t d = 0; d < found.at.size(); ++d) {
      if (!add_dimension(found, d)) return;
    }
    const auto clauses = clauses_of(condition_);
    const bool bound = std::all_of(clauses.begin(), clauses.end(), [&](const std::string& clause) {
      return is_bound(found, clause);
    });
    if (!bound || !order_sides(found)) return;
    window_ = std::move(found);
    // Batches of neighbouring columns follow each other, then those of neighbouring rows.
    for (const bool rows : {true, false}) {
      const Side* side = patch_side(rows);
      std::stable_partition(phases_.begin(), phases_.end(), [&](const Phase& phase) {
        return side != nullptr && phase.place == side->place.name;
      });
    }
    return;
  }
}

// Adds a dimension with at most one place and one tap; batches may index channels only.
bool ContractionText::add_dimension(Window& window, std::size_t dimension) const {
  const auto index = affine_of(window.at[dimension], affine_names());
  if (!index) return false;
  const StageAxis *place = nullptr, *term = nullptr;
  bool shared = false;
  for (const auto& [name, factor] : index->factors) {
    if (factor == 0) continue;
    const StageAxis *in_m = axis_in(m_, name), *in_k = axis_in(k_, name);
    if ((in_m != nullptr && place != nullptr) || (in_k != nullptr && term != nullptr)) return false;
    if (in_m != nullptr) place = in_m;
    if (in_k != nullptr) term = in_k;
    shared = shared || (in_m == nullptr && in_k == nullptr);
  }
  if (place == nullptr) {
    if (term == nullptr) return true;
    if (!window.channel.name.empty()) return false;
    window.channel = *term;
    return true;
  }
  if (shared) return false;
  Side side{.dimension = dimension, .place = *place};
  if (term != nullptr) side.tap = *term;
  const std::int64_t taps = term == nullptr ? 1 : whole_number(term->extent.text);
  if (const Phase* phase = phase_of(place->name); phase != nullptr) {
    if (term == nullptr || phase->tap != term->name) return false;
    const std::int64_t factor = *phase->known.factors.at(phase->tap);
    const std::int64_t between = phase->step / std::gcd(phase->step, factor);
    side.far = factor * between / phase->step;
    side.taps = (taps + between - 1) / between;
    span_phases(side, *phase, taps);
  } else {
    if (!index->is_known() || (term != nullptr && phase_of(term->name) != nullptr)) return false;
    side.step = *index->factors.at(place->name);
    side.far = term == nullptr ? 0 : *index->factors.at(term->name);
    side.taps = taps;
  }
  if (side.step < 1 || side.taps < 1) return false;
  window.sides.push_back(side);
  return true;
}

// Finds how far the taps of all phases reach and which of them comes first.
void ContractionText::span_phases(Side& side, const Phase& phase, std::int64_t taps) {
  const std::int64_t rest = *phase.known.rest, factor = *phase.known.factors.at(phase.tap);
  std::optional<std::int64_t> first, last;
  for (std::int64_t one = 0; one < phase.step; ++one) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = one + rest + factor * tap;
      if (at % phase.step != 0) continue;
      if (!first || at / phase.step < *first) {
        first = at / phase.step;
        side.first_rest = one, side.first_tap = tap;
      }
      last = std::max(last.value_or(at / phase.step), at / phase.step);
    }
  }
  side.all_reach = first ? *last - *first : 0;
}

// Every place has a side of its own, every term is a channel or a tap.
bool ContractionText::order_sides(Window& window) const {
  std::vector<Side> ordered;
  std::set<std::string> terms = {window.channel.name};
  for (const StageAxis& axis : m_) {
    for (const Side& side : window.sides) {
      if (side.place.name != axis.name) continue;
      ordered.push_back(side);
      if (!side.tap.name.empty()) terms.insert(side.tap.name);
    }
  }
  const bool all = ordered.size() == m_.size() && window.sides.size() == m_.size() &&
                   !window.channel.name.empty() && terms.size() == k_.size();
  window.sides = std::move(ordered);
  return all;
}

// True for conditions that say no more than that an index lies within its dimension.
bool ContractionText::is_bound(const Window& window, const std::string& clause) const {
  const AffineNames names = affine_names();
  if (const auto remainder = compared(clause, "%"); !remainder.empty()) {
    const auto of = affine_of(remainder[0], names);
    const auto step = affine_of(
        compared(remainder[1], "==").empty() ? remainder[1] : compared(remainder[1], "==")[0],
        names);
    if (step && step->factors.empty() && step->rest == 1) return true;
    return of && std::any_of(phases_.begin(), phases_.end(),
                             [&](const Phase& one) { return one.known == *of; });
  }
  if (const auto least = compared(clause, ">="); !least.empty()) {
    const auto over = affine_of(fmt::format("({}) - ({})", least[0], least[1]), names);
    if (!over) return false;
    const bool phased = std::any_of(phases_.begin(), phases_.end(),
                                    [&](const Phase& one) { return one.known == *over; });
    return phased || std::any_of(window.at.begin(), window.at.end(), [&](const std::string& at) {
             return at == least[0] ? least[1] == "0"
                                   : over->is_known() && affine_of(at, names) == over;
           });
  }
  const auto most = compared(clause, "<");
  if (most.empty()) return false;
  for (std::size_t d = 0; d < window.at.size(); ++d) {
    const StageAxis* size = axis_in(fold().sizes, most[1]);
    if (window.at[d] == most[0] && size != nullptr && size->extent == window.read->extents[d])
      return true;
  }
  return false;
}

const ContractionText::Side* ContractionText::patch_side(bool rows) const {
  const auto& sides = window_->sides;
  if (!rows) return &sides.back();
  return sides.size() > 1 ? &sides[sides.size() - 2] : nullptr;
}

std::vector<ContractionText::Side> ContractionText::outer_sides() const {
  const auto& sides = window_->sides;
  return {sides.begin(), sides.end() - std::min<std::ptrdiff_t>(2, std::ssize(sides))};
}

std::optional<SiteWindow> ContractionText::window() const {
  if (!window_) return std::nullopt;
  SiteWindow out;
  ExprShape outer;
  for (const Side& side : outer_sides()) {
    outer.push_back(extent_in_phase(side.place));
    out.outer_taps *= side.taps;
    out.outer_all_taps *= site_side(side).all_taps;
  }
  out.outer = product_of(outer);
  out.channels = window_->channel.extent;
  out.columns = site_side(*patch_side(false));
  if (const Side* rows = patch_side(true)) out.rows = site_side(*rows);
  return out;
}

SiteWindowSide ContractionText::site_side(const Side& side) const {
  SiteWindowSide out{.extent = extent_in_phase(side.place), .step = side.step, .taps = side.taps};
  out.reach = (side.taps - 1) * std::abs(side.far);
  out.all_taps = side.taps, out.all_reach = out.reach;
  if (const Phase* phase = phase_of(side.place.name)) {
    out.phases = phase->step;
    out.all_taps = whole_number(side.tap.extent.text);
    out.all_reach = side.all_reach;
  }
  return out;
}

std::string ContractionText::side_extent(const Side& side) const {
  return extent_call(window_->read->extents[side.dimension].text);
}

std::string ContractionText::count_of_taps(const Side& side) const {
  if (side.tap.name.empty()) return "1";
  return phase_of(side.tap.name) != nullptr ? "batch.count_" + side.tap.name
                                            : extent_call(side.tap.extent.text);
}

std::string ContractionText::window_numbers() const {
  std::string out;
  const auto number = [&](const std::string& name, std::int64_t value) {
    out += fmt::format("  static constexpr int {} = {};\n", name, value);
  };
  const auto count = [&](const char* name, const std::string& value) {
    out += fmt::format("{} int window_{}() const {{ return {}; }}\n", qualified, name, value);
  };
  const SiteWindow all = *window();
  for (const bool is_row : {true, false}) {
    const SiteWindowSide& side = is_row ? all.rows : all.columns;
    const std::string name = is_row ? "ROW_" : "COLUMN_";
    number(name + "STEP", side.step);
    number(name + "REACH", side.reach);
    number(name + "PHASES", side.phases);
    number(name + "ALL_REACH", side.all_reach);
  }
  number("MOST_TAPS", all.rows.taps * all.columns.taps);
  number("OUTER_TAPS", all.outer_taps);
  const Side *rows = patch_side(true), *columns = patch_side(false);
  number("ROW_FAR", rows == nullptr ? 0 : rows->far);
  number("COLUMN_FAR", columns->far);
  count("rows", rows == nullptr ? "1" : extent_call(extent_in_phase(rows->place).text));
  count("columns", extent_call(extent_in_phase(columns->place).text));
  std::string outer = "1", taps = "1";
  for (const Side& side : outer_sides()) {
    outer += " * " + extent_call(extent_in_phase(side.place).text);
    taps += " * " + count_of_taps(side);
  }
  count("outer", outer);
  count("channels", extent_call(window_->channel.extent.text));
  return out + fmt::format(
                   "  struct Taps {{\n    int outer, rows, columns;\n  }};\n{} Taps "
                   "window_taps(const Batch& batch) const {{ return {{{}, {}, {}}}; }}\n",
                   qualified, taps, rows == nullptr ? "1" : count_of_taps(*rows),
                   count_of_taps(*columns));
}

// The index along a side at a place and a tap, both counted within the batch's phase.
std::string ContractionText::window_place(const char* name, const Side* side) const {
  const std::string opening =
      fmt::format("{} int {}(const Batch& batch, int place, int tap) const {{\n", qualified, name);
  if (side == nullptr) return opening + "    return 0;\n  }\n";
  const auto of = [&](const StageAxis& axis, const char* value) {
    const Phase* phase = phase_of(axis.name);
    const std::string text =
        phase == nullptr ? value
        : phase->tap == axis.name
            ? fmt::format("batch.first_{0} + tap * batch.step_{0}", axis.name)
            : fmt::format("place * {} + batch.rest_{}", phase->step, axis.name);
    return axis.name.empty() ? "" : fmt::format("    const int {} = {};\n", axis.name, text);
  };
  const std::string& at = window_->at[side->dimension];
  return opening + ones() + of(side->place, "place") + of(side->tap, "tap") + needs_of(at) +
         fmt::format("    return {};\n  }}\n", narrowed(at));
}

// The index along a side of the first tap of all phases, at a place.
std::string ContractionText::first_place(const char* name, const Side* side) const {
  const Phase* phase = side == nullptr ? nullptr : phase_of(side->place.name);
  const std::string opening = fmt::format("{} int {}(int place) const {{\n", qualified, name);
  if (phase == nullptr) return opening + "    return place;\n  }\n";
  const std::string& at = window_->at[side->dimension];
  return opening + ones() +
         fmt::format("    const int {} = place * {} + {};\n    const int {} = {};\n",
                     side->place.name, phase->step, side->first_rest, side->tap.name,
                     side->first_tap) +
         needs_of(at) + fmt::format("    return {};\n  }}\n", narrowed(at));
}

// Indices along the sides that no patch extends in, at a number of their places and of their taps.
std::string ContractionText::window_slice() const {
  Axes places, taps;
  std::string members, named, texts, values, present = "true";
  for (const Side& side : outer_sides()) {
    places.push_back(side.place);
    if (!side.tap.name.empty()) taps.push_back(side.tap);
    const std::string& at = window_->at[side.dimension];
    members += fmt::format("    int index_{};\n", side.dimension);
    texts += at + " ";
    values += fmt::format(
        "    out.index_{0} = {1};\n    out.present = out.present && "
        "out.index_{0} >= 0 && out.index_{0} < {2};\n",
        side.dimension, narrowed(at), side_extent(side));
  }
  std::string own;
  for (const Axes* axes : {&places, &taps}) {
    for (const StageAxis& axis : *axes) {
      own += fmt::format("      int {};\n", axis.name);
      named += fmt::format("    const int {0} = at.{0};\n", axis.name);
    }
  }
  const std::string found = own.empty()
                                ? ""
                                : fmt::format(
                                      "    struct {{\n{}    }} at;\n    int number = place;\n{}"
                                      "    number = tap;\n{}",
                                      own, taken(places), taken(taps)) +
                                      ones() + named + needs_of(texts);
  return fmt::format(
      "  struct Slice {{\n{0}    bool present;\n  }};\n{1} Slice window_slice(const Batch& batch, "
      "int place, int tap) const {{\n    Slice out;\n    out.present = true;\n{2}{3}    return "
      "out;\n  }}\n",
      members, qualified, found, values);
}

// Elements of four neighbouring channels, 0 for those that lie outside.
std::string ContractionText::window_values() const {
  std::string list, others, inside = "slice.present";
  SiteRead from{.name = window_->read->name,
                .source = window_->read->source,
                .extents = window_->read->extents};
  from.at = window_->at;
  for (const Side& side : outer_sides())
    from.at[side.dimension] = fmt::format("slice.index_{}", side.dimension);
  for (const bool rows : {true, false}) {
    const Side* side = patch_side(rows);
    if (side == nullptr) continue;
    const char* name = rows ? "row" : "column";
    from.at[side->dimension] = name;
    inside += fmt::format(" && {0} >= 0 && {0} < {1}", name, side_extent(*side));
  }
  for (const std::string& at : from.at) {
    list += (list.empty() ? "" : ", ") + narrowed(at);
    others += at + " ";
  }
  std::string shared;
  for (const StageAxis& axis : batch_)
    shared += fmt::format("    const int {0} = batch.{0};\n", axis.name);
  // The conditions are those that `inside` holds.
  const std::string value = left_ ? fmt::format("to_float(load_unless(here_ ? 0u : 1u, {}, {}))",
                                                storage_of(from), narrowed(storage_index(from)))
                                  : fmt::format("here_ ? real({}({})) : real(0)", from.name, list);
  return fmt::format(
             "{} void window_values(const Batch& batch, const Slice& slice, int channel, int row, "
             "int column, float (&out)[4]) const {{\n    const bool inside_ = {};\n",
             qualified, inside) +
         ones() + shared +
         fmt::format(
             "#pragma unroll\n    for (int each_ = 0; each_ < 4; ++each_) {{\n"
             "      const int {0} = channel + each_;\n      const bool here_ = inside_ && {0} < "
             "{1};\n",
             window_->channel.name, extent_call(window_->channel.extent.text)) +
         needs_of(others) + (left_ ? "" : reads_by_coordinates(site_.folds[0], from.name)) +
         fmt::format("      out[each_] = {};\n    }}\n  }}\n", value);
}

// The number of a term among those of its batch.
std::string ContractionText::window_term() const {
  std::string text;
  const auto sides = outer_sides();
  for (std::size_t d = sides.size(); d-- > 0;) {
    if (sides[d].tap.name.empty()) continue;
    text += fmt::format("    const int tap_{0} = outer % {1};\n    outer /= {1};\n",
                        sides[d].tap.name, count_of_taps(sides[d]));
  }
  std::string number = "0";
  for (const StageAxis& axis : k_) {
    const bool tap = axis.name != window_->channel.name;
    std::string value = tap ? "tap_" + axis.name : "channel";
    for (const bool rows : {true, false}) {
      const Side* side = patch_side(rows);
      if (side != nullptr && side->tap.name == axis.name) value = rows ? "row" : "column";
    }
    const std::string extent =
        phase_of(axis.name) != nullptr ? "batch.count_" + axis.name : extent_call(axis.extent.text);
    number = number == "0" ? value : fmt::format("({} * {} + {})", number, extent, value);
  }
  return fmt::format(
      "{} int window_term(const Batch& batch, int channel, int outer, int row, int column) const "
      "{{\n{}    return {};\n  }}\n",
      qualified, text, number);
}

std::string ContractionText::window_functions() const {
  return window_numbers() + window_place("window_row", patch_side(true)) +
         window_place("window_column", patch_side(false)) +
         first_place("first_row", patch_side(true)) +
         first_place("first_column", patch_side(false)) + window_slice() + window_values() +
         window_term();
}

}  // namespace cupilot
