#include "program/contraction_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using Axes = std::vector<StageAxis>;

// Place of a character outside of all brackets; npos: there is none.
std::size_t outer_place(const std::string& text, char wanted) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (text[at] == wanted && depth == 0) return at;
  }
  return std::string::npos;
}

bool is_zero(const std::string& text) { return text == "real(0)" || text == "0.0f"; }

Expr extent_of(const Axes& axes) {
  ExprShape extents;
  for (const StageAxis& axis : axes) extents.push_back(axis.extent);
  return product_of(extents);
}

bool subset(const std::set<std::string>& part, const std::set<std::string>& of) {
  return std::includes(of.begin(), of.end(), part.begin(), part.end());
}

}  // namespace

ContractionText::ContractionText(const Task& task, const GraphSite& site)
    : StageText(task, site, true) {
  found_ = site.folds.size() == 1 && fold().combine == Combine::sum && find_factors();
}

std::set<std::string> ContractionText::axes_of(const std::string& given) const {
  std::string text = given;
  const auto& constants = fold().constants;
  for (auto constant = constants.rbegin(); constant != constants.rend(); ++constant) {
    if (uses(text, constant->first)) text += " " + constant->second;
  }
  std::set<std::string> out;
  for (const Axes* axes : {&fold().free, &fold().over}) {
    for (const StageAxis& axis : *axes) {
      if (axis.extent.text != "1" && uses(text, axis.name)) out.insert(axis.name);
    }
  }
  return out;
}

// `condition ? a * b : 0`: the condition becomes the factor's that has its coordinates.
bool ContractionText::find_factors() {
  std::string term = fold().term, condition;
  if (const auto question = outer_place(term, '?'); question != std::string::npos) {
    const auto colon = outer_place(term, ':');
    if (colon == std::string::npos || !is_zero(trimmed(term.substr(colon + 1)))) return false;
    condition = trimmed(term.substr(0, question));
    term = term.substr(question + 1, colon - question - 1);
  }
  const auto times = outer_place(term, '*');
  if (times == std::string::npos || outer_place(term, '+') != std::string::npos) return false;
  a_ = trimmed(term.substr(0, times));
  b_ = trimmed(term.substr(times + 1));
  if (outer_place(b_, '*') != std::string::npos) return false;
  if (!condition.empty() && !subset(axes_of(condition), axes_of(a_))) std::swap(a_, b_);
  const auto of_a = axes_of(a_), of_b = axes_of(b_);
  if (!condition.empty() && !subset(axes_of(condition), of_a)) return false;
  if (!condition.empty()) a_ = fmt::format("{} ? {} : real(0)", condition, a_);
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") continue;
    const bool in_a = of_a.contains(axis.name), in_b = of_b.contains(axis.name);
    if (!in_a && !in_b) return false;
    (in_a && in_b ? batch_ : in_a ? m_ : n_).push_back(axis);
  }
  for (const StageAxis& axis : fold().over) {
    if (axis.extent.text != "1") k_.push_back(axis);
  }
  return !m_.empty() && !n_.empty() && !k_.empty();
}

std::optional<SiteContraction> ContractionText::contraction() const {
  if (!found_ || !outputs(StagePlace::full).empty()) return std::nullopt;
  return SiteContraction{extent_of(batch_), extent_of(m_), extent_of(n_), extent_of(k_)};
}

std::string ContractionText::text() const {
  const std::vector<int> order = functions_of_fold();
  Axes left = batch_, right = batch_;
  left.insert(left.end(), m_.begin(), m_.end());
  right.insert(right.end(), n_.begin(), n_.end());
  std::string out = opening() + folded_row_struct();
  const auto count = [&](const char* name, const Axes& axes) {
    std::string product = "1";
    for (const StageAxis& axis : axes) product += " * " + extent_call(axis.extent.text);
    out += fmt::format("  __device__ int {}() const {{ return {}; }}\n", name, product);
  };
  count("batches", batch_);
  count("m_count", m_);
  count("n_count", n_);
  count("k_count", k_);
  for (const int one : order) out += function(one);
  out += coordinates_struct("Left", "left_place", batch_, m_) +
         coordinates_struct("Right", "right_place", batch_, n_) +
         coordinates_struct("Term", "term_place", {}, k_);
  out += factor("left_factor", "Left", left, a_) + factor("right_factor", "Right", right, b_);
  return out + store_folded() + store() + extents() + "};\n";
}

std::string ContractionText::coordinates_struct(const char* type, const char* function,
                                                const Axes& outer, const Axes& axes) const {
  std::string members, taken;
  const auto take = [&](const Axes& some, const char* number) {
    for (std::size_t d = some.size(); d-- > 0;) {
      const std::string extent = extent_call(some[d].extent.text);
      members = fmt::format("    int {};\n", some[d].name) + members;
      taken += d == 0 ? fmt::format("    at.{} = {};\n", some[d].name, number)
                      : fmt::format("    at.{0} = {1} % {2};\n    {1} /= {2};\n", some[d].name,
                                    number, extent);
    }
  };
  take(axes, "number");
  take(outer, "batch");
  return fmt::format(
      "  struct {0} {{\n{1}  }};\n  __device__ __forceinline__ {0} {2}({3}int number) const {{\n"
      "    {0} at;\n{4}    return at;\n  }}\n",
      type, members, function, std::string(type) == "Term" ? "" : "int batch, ", taken);
}

std::string ContractionText::factor(const char* name, const char* type, const Axes& axes,
                                    const std::string& given) const {
  std::string out = fmt::format(
      "  __device__ __forceinline__ float {}(const {}& at, const Term& term) const {{\n", name,
      type);
  for (const Axes* all : {&fold().free, &fold().over}) {
    for (const StageAxis& axis : *all) {
      if (axis.extent.text == "1") out += fmt::format("    constexpr int {} = 0;\n", axis.name);
    }
  }
  for (const StageAxis& axis : axes) out += fmt::format("    const int {0} = at.{0};\n", axis.name);
  for (const StageAxis& axis : k_) out += fmt::format("    const int {0} = term.{0};\n", axis.name);
  ReferenceStage narrow = fold();
  for (auto& [constant, value] : narrow.constants) value = narrowed(value);
  const std::string text = narrowed(given);
  std::string all = text;
  for (auto constant = narrow.constants.rbegin(); constant != narrow.constants.rend(); ++constant) {
    if (uses(all, constant->first)) all += " " + constant->second;
  }
  out += sizes_and_constants(narrow, all, false);
  return out + reads_by_coordinates(site_.folds[0], all) +
         fmt::format("    return {};\n  }}\n", text);
}

std::string ContractionText::store() const {
  std::string row = "0ll";
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") continue;
    const bool right = std::find(n_.begin(), n_.end(), axis) != n_.end();
    row = fmt::format("({} * {} + {}.{})", row, extent_call(axis.extent.text),
                      right ? "right" : "left", axis.name);
  }
  return fmt::format(
      "  __device__ __forceinline__ void store(const Left& left, const Right& right, float acc) "
      "const {{\n    store_row(Row{{{}}}, acc);\n  }}\n",
      row);
}

}  // namespace cupilot
