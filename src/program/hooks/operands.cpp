#include "program/hooks/operands.hpp"

#include <algorithm>

#include "program/hooks/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_identifier_character);
}

std::string without_cast(std::string text) {
  text = trimmed(text);
  std::size_t close = 0;
  if (find_call(text, "real", 0) == 4) {
    const auto arguments = arguments_at(text, 4, close);
    if (arguments.size() == 1 && close + 1 == text.size()) return without_cast(arguments[0]);
  }
  return text;
}

bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names joined(const Names& a, const Names& b, const Names& c) {
  Names out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

}  // namespace

std::optional<std::pair<const StageRead*, Names>> value_of(const ReferenceStage& stage,
                                                           const std::string& given) {
  const std::string text = without_cast(given);
  for (const StageRead& read : stage.reads) {
    if (!read.at.empty() && text == read.name) return std::pair(&read, read.at);
    std::size_t close = 0;
    if (!read.at.empty() || find_call(text, read.name, 0) != read.name.size()) continue;
    auto at = arguments_at(text, read.name.size(), close);
    if (close + 1 == text.size()) return std::pair(&read, std::move(at));
  }
  return std::nullopt;
}

const ReferenceStage* stage_named(const Task& task, const std::string& name) {
  for (const ReferenceStage& stage : task.reference.stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

std::optional<Factor> factor_of(const Task& task, const ReferenceStage& stage,
                                const std::string& text) {
  const auto value = value_of(stage, text);
  if (!value) return std::nullopt;
  std::string source = value->first->source;
  Names at = value->second;
  std::vector<Expr> extents = value->first->extents;
  for (const ReferenceStage* by = stage_named(task, source); by != nullptr;
       by = stage_named(task, source)) {
    const auto inner = value_of(*by, by->term);
    if (by->kind != StageKind::map || !inner || by->free.size() != at.size()) return std::nullopt;
    Names through;
    for (const std::string& place : inner->second) {
      const auto axis = std::find_if(by->free.begin(), by->free.end(),
                                     [&](const StageAxis& one) { return one.name == place; });
      if (axis == by->free.end() && place != "0") return std::nullopt;
      through.push_back(
          axis == by->free.end() ? "0" : at[static_cast<std::size_t>(axis - by->free.begin())]);
    }
    at = through;
    extents = inner->first->extents;
    source = inner->first->source;
  }
  const Tensor* tensor = find_tensor(task, source);
  if (tensor == nullptr || tensor->type == DType::f64 || tensor->type > DType::e5m2 ||
      at.size() != extents.size())
    return std::nullopt;
  Factor out{.tensor = source};
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (extents[d].text == "1") continue;
    if (!is_word(at[d])) return std::nullopt;
    out.at.push_back(at[d]);
  }
  return out;
}

std::optional<std::pair<std::string, std::string>> factor_texts(const std::string& term) {
  int depth = 0;
  for (std::size_t at = 0; at < term.size(); ++at) {
    depth += term[at] == '(' ? 1 : term[at] == ')' ? -1 : 0;
    if (term[at] == '*' && depth == 0) return std::pair(term.substr(0, at), term.substr(at + 1));
  }
  return std::nullopt;
}

std::optional<GraphProduct> laid_out(const ReferenceStage& fold, const Factor& a, const Factor& b) {
  Names batch, m, n, k;
  std::vector<Expr> batches, ms, ns, ks;
  for (const StageAxis& axis : fold.free) {
    if (axis.extent.text == "1") continue;
    const bool of_a = holds(a.at, axis.name), of_b = holds(b.at, axis.name);
    if (!of_a && !of_b) return std::nullopt;
    (of_a && of_b ? batch : of_a ? m : n).push_back(axis.name);
    (of_a && of_b ? batches : of_a ? ms : ns).push_back(axis.extent);
    const bool late = of_a && of_b ? !m.empty() || !n.empty() : of_a && !n.empty();
    if (late) return std::nullopt;
  }
  for (const StageAxis& axis : fold.over) {
    if (axis.extent.text == "1") continue;
    k.push_back(axis.name);
    ks.push_back(axis.extent);
  }
  GraphProduct out{.a = a.tensor, .b = b.tensor};
  out.turned_a = a.at != joined(batch, m, k);
  out.turned_b = n.empty() || b.at != joined(batch, k, n);
  if (k.empty() || (m.empty() && n.empty()) || (out.turned_a && a.at != joined(batch, k, m)) ||
      (out.turned_b && b.at != joined(batch, n, k)))
    return std::nullopt;
  out.batch = product_of(batches);
  out.m = product_of(ms);
  out.n = product_of(ns);
  out.k = product_of(ks);
  return out;
}

}  // namespace cupilot
