#include "program/hooks/product.hpp"

#include <algorithm>
#include <vector>

#include "program/hooks/call_text.hpp"
#include "task/identifiers.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using Names = std::vector<std::string>;

// A factor of a term: a tensor at coordinates, as they lie in memory.
struct Factor {
  std::string tensor{};
  Names at{};  // without those of extent 1
};

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

// The one value that a text is: its read and coordinates.
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

// Follows stages that hand a tensor on in another order.
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

// Both factors of `a * b`.
std::optional<std::pair<Factor, Factor>> factors_of(const Task& task, const ReferenceStage& stage) {
  int depth = 0;
  for (std::size_t at = 0; at < stage.term.size(); ++at) {
    depth += stage.term[at] == '(' ? 1 : stage.term[at] == ')' ? -1 : 0;
    if (stage.term[at] != '*' || depth != 0) continue;
    auto a = factor_of(task, stage, stage.term.substr(0, at));
    auto b = factor_of(task, stage, stage.term.substr(at + 1));
    if (!a || !b) return std::nullopt;
    return std::pair(std::move(*a), std::move(*b));
  }
  return std::nullopt;
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

// Lays a fold of factors a and b out as a product, its coordinates in the order batch, m, n.
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

// Bits of a square matrix of `down` lines by `across`: places of a line's own number on, up to it.
int triangle_of(const Task& task, const std::string& name, const Expr& down, const Expr& across,
                bool turned) {
  const Tensor* tensor = find_tensor(task, name);
  if (tensor == nullptr || tensor->role != Role::in || tensor->shape.size() < 2 ||
      down.text != across.text || tensor->shape.back().text != down.text ||
      tensor->shape[tensor->shape.size() - 2].text != down.text)
    return 0;
  const Structure structure = tensor->fill.structure;
  if (structure == Structure::diagonal) return 3;
  if (structure != Structure::upper && structure != Structure::lower) return 0;
  return (structure == Structure::upper) != turned ? 1 : 2;
}

}  // namespace

std::optional<GraphProduct> graph_product(const Task& task) {
  const auto& stages = task.reference.stages;
  const auto is_map = [](const ReferenceStage& stage) { return stage.kind == StageKind::map; };
  const auto fold = std::find_if_not(stages.begin(), stages.end(), is_map);
  if (fold == stages.end() || !std::all_of(fold + 1, stages.end(), is_map) ||
      fold->kind != StageKind::fold || fold->combine != Combine::sum)
    return std::nullopt;
  const auto factors = factors_of(task, *fold);
  if (!factors) return std::nullopt;
  auto out = laid_out(*fold, factors->first, factors->second);
  if (!out) out = laid_out(*fold, factors->second, factors->first);
  if (!out) return std::nullopt;
  // A column of b is a line of b turned about.
  out->spans =
      triangle_of(task, out->a, out->m, out->k, out->turned_a) +
      triangle_of(task, out->b, out->n, out->k, !out->turned_b) * GraphProduct::from_column;
  out->rest = task;
  ReferenceStage& stage =
      out->rest.reference.stages[static_cast<std::size_t>(fold - stages.begin())];
  stage.kind = StageKind::map;
  stage.term = stage.finish.empty() ? "acc" : stage.finish;
  stage.finish.clear();
  stage.over.clear();
  std::erase_if(stage.reads, [&](const StageRead& read) { return !uses(stage.term, read.name); });
  // Stages that only hand an operand on are read no more.
  const auto is_read = [&](const ReferenceStage& one) {
    return find_tensor(task, one.name) != nullptr ||
           std::any_of(out->rest.reference.stages.begin(), out->rest.reference.stages.end(),
                       [&](const ReferenceStage& other) {
                         return std::any_of(
                             other.reads.begin(), other.reads.end(),
                             [&](const StageRead& read) { return read.source == one.name; });
                       });
  };
  auto& left = out->rest.reference.stages;
  for (std::size_t i = left.size(); i-- > 0;) {
    if (!is_read(left[i])) left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace cupilot
