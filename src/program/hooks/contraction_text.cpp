#include "program/hooks/contraction_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using AxesOf = std::vector<StageAxis>;

constexpr const char* hook = "  __device__ __forceinline__";

AxesOf joined(const AxesOf& a, const AxesOf& b) {
  AxesOf out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

std::string members_of(const AxesOf& axes) {
  std::string out;
  for (const StageAxis& axis : axes) out += fmt::format("    int {};\n", axis.name);
  return out;
}

}  // namespace

std::optional<SiteContraction> ContractionText::contraction() const {
  if (!found_ || !outputs(StagePlace::full).empty()) return std::nullopt;
  const auto extent = [&](const Axes& axes) {
    ExprShape extents;
    for (const StageAxis& axis : axes) extents.push_back(extent_in_phase(axis));
    return product_of(extents);
  };
  SiteContraction out{extent(batch_), extent(m_), extent(n_), extent(k_)};
  std::int64_t phases = 1;
  for (const Phase& phase : phases_) phases *= phase.step;
  out.phases = phases;
  out.planes = planes();
  out.window = window();
  return out;
}

int ContractionText::planes() const {
  const bool emulated =
      task_.precision == Precision::fp32_emulated || task_.precision == Precision::bf16x3;
  return emulated ? 2 : 1;
}

std::string ContractionText::text() const {
  const std::vector<int> order = functions_of_fold();
  std::string out = opening() + folded_row_struct();
  out += fmt::format("  static constexpr int PLANES = {};\n", planes());
  const auto count = [&](const char* name, const Axes& axes) {
    std::string product = "1";
    for (const StageAxis& axis : axes) product += " * " + extent_call(extent_in_phase(axis).text);
    for (const Phase& phase : phases_)
      product += &axes == &batch_ ? fmt::format(" * {}", phase.step) : "";
    out += fmt::format("  __device__ int {}() const {{ return {}; }}\n", name, product);
  };
  count("batches", batch_);
  count("m_count", m_);
  count("n_count", n_);
  for (const int one : order) out += function(one);
  if (left_)
    out += index_function("left_index", joined(batch_, m_), *left_) +
           index_function("right_index", joined(batch_, n_), *right_) + inside_functions();
  out += batch_struct() + place_struct("Left", "left_place", m_, left_) +
         place_struct("Right", "right_place", n_, right_) + term_struct() + factors();
  if (window_) out += window_functions();
  return out + store_folded() + store() + extents() + "};\n";
}

std::string ContractionText::parameters_of(const std::vector<const Axes*>& all) const {
  std::string out;
  for (const Axes* axes : all) {
    for (const StageAxis& axis : *axes)
      out += fmt::format("{}int {}", out.empty() ? "" : ", ", axis.name);
  }
  return out;
}

// Coordinates of extent 1.
std::string ContractionText::ones() const {
  std::string out;
  for (const Axes* all : {&fold().free, &fold().over}) {
    for (const StageAxis& axis : *all) {
      if (axis.extent.text == "1") out += fmt::format("    constexpr int {} = 0;\n", axis.name);
    }
  }
  return out;
}

std::string ContractionText::needs_of(const std::string& text) const {
  ReferenceStage narrow = fold();
  for (auto& [constant, value] : narrow.constants) value = narrowed(value);
  std::string all = text;
  for (auto constant = narrow.constants.rbegin(); constant != narrow.constants.rend(); ++constant) {
    if (uses(all, constant->first)) all += " " + constant->second;
  }
  return sizes_and_constants(narrow, all, false);
}

// A batch: coordinates that both factors depend on; for each phase the remainder of its place, the
// first of its taps, how far they lie apart and how many there are; the number of terms.
std::string ContractionText::batch_struct() const {
  std::string members = members_of(batch_), text, terms = "1";
  for (const Phase& phase : phases_) {
    const std::int64_t rest = *phase.known.rest, factor = *phase.known.factors.at(phase.tap);
    const auto tap = std::find_if(k_.begin(), k_.end(),
                                  [&](const StageAxis& axis) { return axis.name == phase.tap; });
    members +=
        fmt::format("    int rest_{0}, first_{1}, step_{1}, count_{1};\n", phase.place, phase.tap);
    text += fmt::format(
        "    at.rest_{0} = number % {2};\n    number /= {2};\n"
        "    at.first_{1} = 0, at.step_{1} = 1, at.count_{1} = 0;\n#pragma unroll\n"
        "    for (int tap = {3} - 1; tap >= 0; --tap) {{\n"
        "      if ((at.rest_{0} + ({4}) + ({5}) * tap) % {2} != 0) continue;\n"
        "      if (at.count_{1} > 0) at.step_{1} = at.first_{1} - tap;\n"
        "      at.first_{1} = tap, ++at.count_{1};\n    }}\n",
        phase.place, phase.tap, phase.step, tap->extent.text, rest, factor);
  }
  for (const StageAxis& axis : k_) {
    terms += phase_of(axis.name) != nullptr ? fmt::format(" * at.count_{}", axis.name)
                                            : " * " + extent_call(axis.extent.text);
  }
  return fmt::format(
      "  struct Batch {{\n{0}    int terms;\n  }};\n{1} Batch batch_place(int number) const {{\n"
      "    Batch at;\n{2}{3}    at.terms = {4};\n    return at;\n  }}\n",
      members, hook, text, taken(batch_), terms);
}

// Takes coordinates from a number, the last of them first: within a phase, places and taps of it.
std::string ContractionText::taken(const Axes& axes) const {
  std::string out;
  for (std::size_t d = axes.size(); d-- > 0;) {
    const std::string& name = axes[d].name;
    const Phase* phase = phase_of(name);
    const bool tap = phase != nullptr && phase->tap == name;
    const std::string extent =
        tap ? "batch.count_" + name : extent_call(extent_in_phase(axes[d]).text);
    const std::string own = d == 0 ? "number" : "number % " + extent;
    const std::string value =
        phase == nullptr ? own
        : tap ? fmt::format("batch.first_{0} + {1} * batch.step_{0}", name, "(" + own + ")")
              : fmt::format("{} * {} + batch.rest_{}", "(" + own + ")", phase->step, name);
    out += fmt::format("    at.{} = {};\n", name, value);
    if (d > 0) out += fmt::format("    number /= {};\n", extent);
  }
  return out;
}

// The output's row of some of its coordinates, the others being 0.
std::string ContractionText::row_of(const Axes& axes) const {
  std::string row = "0";
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") continue;
    const bool own = std::find(axes.begin(), axes.end(), axis) != axes.end();
    const std::string shifted =
        row == "0" ? "" : fmt::format("{} * {}", row, extent_call(axis.extent.text));
    if (own)
      row = shifted.empty() ? "at." + axis.name : fmt::format("({} + at.{})", shifted, axis.name);
    else if (!shifted.empty())
      row = "(" + shifted + ")";
  }
  return row;
}

std::string ContractionText::place_struct(const char* type, const char* function, const Axes& axes,
                                          const std::optional<Direct>& what) const {
  const bool is_left = std::string(type) == "Left";
  const Axes own = joined(batch_, axes);
  std::string members = members_of(own) + "    int row;\n    bool present;\n", text;
  text += fmt::format("    at.present = number < {}_count();\n", is_left ? "m" : "n");
  for (const StageAxis& axis : batch_) text += fmt::format("    at.{0} = batch.{0};\n", axis.name);
  text += taken(axes);
  for (const Phase& phase : phases_) {
    const auto axis = std::find_if(axes.begin(), axes.end(),
                                   [&](const StageAxis& one) { return one.name == phase.place; });
    if (axis != axes.end())
      text += fmt::format("    at.present = at.present && at.{} < {};\n", axis->name,
                          extent_call(axis->extent.text));
  }
  text += fmt::format("    at.row = {};\n", row_of(is_left ? own : axes));
  if (what) {
    members += fmt::format("    const T_{}* from;\n", what->tensor);
    text += fmt::format("    at.from = {} + {};\n", what->storage,
                        index_call(is_left ? "left_index" : "right_index", own, true, false));
  }
  if (what) members += "    unsigned outside;\n";
  if (what && !is_left) text += "    at.outside = at.present ? 1u << 31 : ~0u;\n";
  if (what && is_left) {
    std::string condition = "at.present";
    if (!place_clauses_.empty()) {
      std::string given;
      for (const StageAxis& axis : own) given += (given.empty() ? "at." : ", at.") + axis.name;
      condition += fmt::format(" && inside_place({})", given);
    }
    text += fmt::format("    at.outside = {} ? ~0u >> 2 | 1u << 31 : ~0u;\n", condition);
    for (const Tap& tap : taps_) {
      std::string given;
      for (const StageAxis& axis : own) given += "at." + axis.name + ", ";
      text += fmt::format(
          "#pragma unroll\n    for (int tap = 0; tap < {0}; ++tap)\n      if (at.present && "
          "inside_{1}({2}tap)) at.outside &= ~(1u << ({3} + tap));\n",
          tap.axis.extent.text, tap.axis.name, given, tap.bit);
    }
  }
  return fmt::format(
      "  struct {0} {{\n{1}  }};\n{2} {0} {3}(const Batch& batch, int number) const {{\n"
      "    {0} at;\n{4}    return at;\n  }}\n",
      type, members, hook, function, text);
}

// Writes a term as the step by which it moves each factor, where these are elements at affine
// indices, with bits for the conditions on its place. Bits 30 and 31 belong to all terms and to
// those that are none.
std::string ContractionText::term_struct() const {
  const std::string text = taken(k_);
  const std::string members = members_of(k_);
  const std::string coordinates = fmt::format("    struct {{\n{}    }} at;\n{}", members, text);
  if (!left_)
    return fmt::format(
        "  struct Term {{\n{0}    bool present;\n  }};\n  template <int N>\n"
        "  using Terms = PlacedTerms<Term, N>;\n{1} Term term_place(const Batch& batch, "
        "int number) const {{\n    Term at;\n    at.present = number < batch.terms;\n"
        "    if (!at.present) number = 0;\n    if (batch.terms == 0) return at;\n{2}"
        "    return at;\n  }}\n",
        members, hook, text);
  return fmt::format(
             "  using Term = FarTerm;\n  template <int N>\n  using Terms = FarTerms<N>;\n"
             "{} Term term_place(const Batch& batch, int number) const {{\n"
             "    if (number >= batch.terms) return {{0, 0, 3u << 30}};\n",
             hook) +
         coordinates + direct_term() + "  }\n";
}

std::string ContractionText::direct_term() const {
  std::string bits = "1u << 30";
  for (const Tap& tap : taps_) bits += fmt::format(" | 1u << ({} + at.{})", tap.bit, tap.axis.name);
  const Axes left = joined(batch_, m_), right = joined(batch_, n_);
  return fmt::format(
      "    return {{{} - {}, {} - {}, {}}};\n", index_call("left_index", left, false, true),
      index_call("left_index", left, false, false), index_call("right_index", right, false, true),
      index_call("right_index", right, false, false), bits);
}

std::string ContractionText::index_function(const char* name, const Axes& axes,
                                            const Direct& what) const {
  return fmt::format("{} int {}({}) const {{\n{}{}    return {};\n  }}\n", hook, name,
                     parameters_of({&axes, &k_}), ones(), needs_of(what.index),
                     narrowed(what.index));
}

// An index at a place or at the first one of its phase, and at a term or at the phase's first.
std::string ContractionText::index_call(const char* name, const Axes& axes, bool at,
                                        bool term) const {
  std::string out;
  for (const StageAxis& axis : axes) {
    const Phase* phase = phase_of(axis.name);
    const std::string first = phase != nullptr ? "batch.rest_" + axis.name : "0";
    out += (out.empty() ? "" : ", ") + (at ? "at." + axis.name : first);
  }
  for (const StageAxis& axis : k_) {
    const Phase* phase = phase_of(axis.name);
    const std::string first = phase != nullptr ? "batch.first_" + axis.name : "0";
    out += ", " + (term ? "at." + axis.name : first);
  }
  return fmt::format("{}({})", name, out);
}

std::string ContractionText::inside_functions() const {
  const Axes own = joined(batch_, m_);
  std::string out;
  const auto add = [&](const std::string& name, const Axes& more,
                       const std::vector<std::string>& clauses) {
    std::string all = "true";
    for (const std::string& clause : clauses) all += " && (" + narrowed(clause) + ")";
    out += fmt::format("{} bool inside_{}({}) const {{\n{}{}    return {};\n  }}\n", hook, name,
                       parameters_of({&own, &more}), ones(), needs_of(all), all);
  };
  for (const Tap& tap : taps_) add(tap.axis.name, {tap.axis}, tap.clauses);
  if (!place_clauses_.empty()) add("place", {}, place_clauses_);
  return out;
}

// The factors of one term, and of four neighbouring ones of a table.
std::string ContractionText::factors() const {
  std::string out;
  for (const bool is_left : {true, false}) {
    const std::string side = is_left ? "left" : "right", type = is_left ? "Left" : "Right";
    if (left_) {
      out += fmt::format(
          "{0} float {1}_factor(const {2}& at, const Term& term) const {{\n"
          "    return to_float(load_unless(term.taps & at.outside, at.from, term.{1}));\n  }}\n"
          "  template <int N>\n{0} void {1}_factors(const {2}& at, const Terms<N>& terms, int "
          "first, float (&out)[4]) const {{\n    load_terms(at.from, at.outside, terms.{1}, "
          "terms.taps, first, out);\n  }}\n",
          hook, side, type);
      continue;
    }
    out += factor((side + "_factor").c_str(), type.c_str(), joined(batch_, is_left ? m_ : n_),
                  is_left ? a_ : b_);
    out += fmt::format(
        "  template <int N>\n{0} void {1}_factors(const {2}& at, const Terms<N>& terms, int first, "
        "float (&out)[4]) const {{\n#pragma unroll\n    for (int i = 0; i < 4; ++i) out[i] = "
        "{1}_factor(at, terms.at(first + i));\n  }}\n",
        hook, side, type);
  }
  return out;
}

std::string ContractionText::factor(const char* name, const char* type, const Axes& axes,
                                    const std::string& given) const {
  std::string out = fmt::format(
      "{} float {}(const {}& at, const Term& term) const {{\n    if (!at.present || "
      "!term.present) return 0.0f;\n",
      hook, name, type);
  out += ones();
  for (const StageAxis& axis : axes) out += fmt::format("    const int {0} = at.{0};\n", axis.name);
  for (const StageAxis& axis : k_) out += fmt::format("    const int {0} = term.{0};\n", axis.name);
  const std::string text = narrowed(given);
  std::string all = text;
  for (auto constant = fold().constants.rbegin(); constant != fold().constants.rend(); ++constant) {
    if (uses(all, constant->first)) all += " " + narrowed(constant->second);
  }
  return out + needs_of(text) + reads_by_coordinates(site_.folds[0], all) +
         fmt::format("    return {};\n  }}\n", text);
}

std::string ContractionText::store() const {
  std::string members;
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") continue;
    const bool right = std::find(n_.begin(), n_.end(), axis) != n_.end();
    members += fmt::format(", {}.{}", right ? "right" : "left", axis.name);
  }
  return fmt::format(
      "{} void store(const Left& left, const Right& right, float acc) const {{\n"
      "    store_row(Row{{left.row + right.row{}}}, acc);\n  }}\n",
      hook, members);
}

std::optional<SiteContraction> contraction_of(const Task& task, const GraphSite& site) {
  return ContractionText(task, site).contraction();
}

std::string contraction_text(const Task& task, const GraphSite& site) {
  return ContractionText(task, site).text();
}

}  // namespace cupilot
