// The form of a sum of products: whose coordinates are whose, phases, affine indices.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "program/hooks/contraction_text.hpp"
#include "program/hooks/pitched.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

constexpr int most_taps = 30;  // bits of a place's conditions

bool is_zero(const std::string& text) { return text == "real(0)" || text == "0.0f"; }

bool subset(const std::set<std::string>& part, const std::set<std::string>& of) {
  return std::includes(of.begin(), of.end(), part.begin(), part.end());
}

}  // namespace

ContractionText::ContractionText(const Task& task, const GraphSite& site)
    : StageText(task, site, true) {
  keeps_coordinates_ = true;
  found_ = site.folds.size() == 1 && fold().combine == Combine::sum && find_factors();
  if (!found_) return;
  find_phases();
  find_window();
  find_direct();
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
  std::string term = fold().term;
  if (const auto question = outer_place(term, "?"); question != std::string::npos) {
    const auto colon = outer_place(term, ":");
    if (colon == std::string::npos || !is_zero(trimmed(term.substr(colon + 1)))) return false;
    condition_ = trimmed(term.substr(0, question));
    term = term.substr(question + 1, colon - question - 1);
  }
  const auto times = outer_place(term, "*");
  if (times == std::string::npos || outer_place(term, "+") != std::string::npos) return false;
  a_ = trimmed(term.substr(0, times));
  b_ = trimmed(term.substr(times + 1));
  if (outer_place(b_, "*") != std::string::npos) return false;
  if (!condition_.empty() && !subset(axes_of(condition_), axes_of(a_))) std::swap(a_, b_);
  const auto of_a = axes_of(a_), of_b = axes_of(b_);
  if (!condition_.empty() && !subset(axes_of(condition_), of_a)) return false;
  return place_axes(of_a, of_b);
}

bool ContractionText::place_axes(const std::set<std::string>& left,
                                 const std::set<std::string>& right) {
  for (const StageAxis& axis : fold().free) {
    if (axis.extent.text == "1") continue;
    const bool in_a = left.contains(axis.name), in_b = right.contains(axis.name);
    if (!in_a && !in_b) return false;
    (in_a && in_b ? batch_ : in_a ? m_ : n_).push_back(axis);
  }
  for (const StageAxis& axis : fold().over) {
    if (axis.extent.text != "1") k_.push_back(axis);
  }
  return !m_.empty() && !n_.empty() && !k_.empty();
}

std::vector<std::string> ContractionText::clauses_of(const std::string& condition) const {
  return cupilot::clauses_of(condition, fold().constants);
}

AffineNames ContractionText::affine_names() const {
  AffineNames out;
  out.is_coordinate = [this](const std::string& name) {
    for (const Axes* axes : {&batch_, &m_, &n_, &k_}) {
      if (std::any_of(axes->begin(), axes->end(),
                      [&](const StageAxis& axis) { return axis.name == name; }))
        return true;
    }
    return false;
  };
  out.constant = [this](const std::string& name) -> std::string {
    for (const Axes* axes : {&fold().free, &fold().over}) {
      for (const StageAxis& axis : *axes) {
        if (axis.name == name) return "0";  // the only one of its extent
      }
    }
    for (const auto& [constant, value] : fold().constants) {
      if (constant == name) return value;
    }
    return "";
  };
  for (const Phase& phase : phases_) out.exact.push_back({phase.known, phase.step});
  return out;
}

const ContractionText::Phase* ContractionText::phase_of(const std::string& axis) const {
  for (const Phase& phase : phases_) {
    if (phase.place == axis || phase.tap == axis) return &phase;
  }
  return nullptr;
}

// `(place + … * tap + …) % step == 0` with known numbers.
void ContractionText::find_phases() {
  const AffineNames names = affine_names();
  const auto has = [](const Axes& axes, const std::string& name) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const StageAxis& axis) { return axis.name == name; });
  };
  for (const std::string& clause : clauses_of(condition_)) {
    const auto percent = outer_place(clause, "%"), equal = outer_place(clause, "==");
    if (percent == std::string::npos || equal == std::string::npos || percent > equal ||
        trimmed(clause.substr(equal + 2)) != "0")
      continue;
    const auto of = affine_of(clause.substr(0, percent), names);
    const auto step = affine_of(clause.substr(percent + 1, equal - percent - 1), names);
    if (!of || !step || !step->factors.empty() || !step->rest || *step->rest < 2 ||
        !of->is_known() || of->factors.size() != 2)
      continue;
    Phase phase{.step = *step->rest, .known = *of};
    for (const auto& [name, factor] : of->factors) {
      if (factor == 1 && has(m_, name)) phase.place = name;
      if (has(k_, name)) phase.tap = name;
    }
    const auto tap = std::find_if(k_.begin(), k_.end(),
                                  [&](const StageAxis& axis) { return axis.name == phase.tap; });
    const std::int64_t extent = tap == k_.end() ? 0 : whole_number(tap->extent.text);
    if (phase.place.empty() || extent < 1 || extent > 64 || phase_of(phase.place) != nullptr ||
        phase_of(phase.tap) != nullptr)
      continue;
    phases_.push_back(std::move(phase));
  }
}

// `real(tensor(index, …))` of an input, every index affine.
std::optional<ContractionText::Direct> ContractionText::direct(const std::string& factor) const {
  for (const StageRead& read : fold().reads) {
    const std::string opening = "real(" + read.name + "(";
    if (!read.at.empty() || !factor.starts_with(opening) || !factor.ends_with("))")) continue;
    const Tensor* tensor = find_tensor(task_, read.source);
    const bool computed =
        std::any_of(task_.reference.stages.begin(), task_.reference.stages.end(),
                    [&](const ReferenceStage& stage) { return stage.name == read.source; });
    std::size_t close = 0;
    SiteRead from{.name = read.name, .source = read.source, .extents = read.extents};
    from.at = arguments_at(factor, opening.size() - 1, close);
    if (tensor == nullptr || tensor->role == Role::in_out || computed ||
        tensor->type > DType::e5m2 || close + 2 != factor.size() ||
        from.at.size() != from.extents.size())
      return std::nullopt;
    const AffineNames names = affine_names();
    for (const std::string& at : from.at) {
      if (!affine_of(at, names)) return std::nullopt;
    }
    if (is_view(*tensor) && !is_strided(from)) return std::nullopt;
    return Direct{read.source, storage_of(from), storage_index(from)};
  }
  return std::nullopt;
}

// Conditions by the tap that they are on.
bool ContractionText::find_taps() {
  int bits = 0;
  for (const std::string& clause : clauses_of(condition_)) {
    if (const auto percent = outer_place(clause, "%"); percent != std::string::npos) {
      const auto of = affine_of(clause.substr(0, percent), affine_names());
      const bool in_phase = of && std::any_of(phases_.begin(), phases_.end(),
                                              [&](const Phase& one) { return one.known == *of; });
      if (in_phase) continue;  // all taps of a phase
    }
    const auto axes = axes_of(clause);
    const StageAxis* tap = nullptr;
    for (const StageAxis& axis : k_) {
      if (!axes.contains(axis.name)) continue;
      if (tap != nullptr) return false;
      tap = &axis;
    }
    if (tap == nullptr) {
      place_clauses_.push_back(clause);
      continue;
    }
    auto known = std::find_if(taps_.begin(), taps_.end(),
                              [&](const Tap& one) { return one.axis.name == tap->name; });
    if (known == taps_.end()) {
      const std::int64_t extent = whole_number(tap->extent.text);
      if (extent < 1 || bits + extent > most_taps) return false;
      known = taps_.insert(taps_.end(), Tap{.axis = *tap, .bit = bits});
      bits += static_cast<int>(extent);
    }
    known->clauses.push_back(clause);
  }
  return true;
}

void ContractionText::find_direct() {
  left_ = direct(a_);
  right_ = direct(b_);
  if (!left_ || !right_ || !find_taps()) left_ = right_ = std::nullopt;
  if (!left_ && !condition_.empty()) a_ = fmt::format("{} ? {} : real(0)", condition_, a_);
}

Expr ContractionText::extent_in_phase(const StageAxis& axis) const {
  const Phase* phase = phase_of(axis.name);
  if (phase == nullptr || phase->place != axis.name) return axis.extent;
  return fmt::format("(({}) + {}) / {}", axis.extent.text, phase->step - 1, phase->step);
}

}  // namespace cupilot
