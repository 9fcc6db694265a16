#include "program/hooks/product.hpp"

#include <algorithm>

#include "program/hooks/operands.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

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
  const auto texts = factor_texts(fold->term);
  const auto left = texts ? factor_of(task, *fold, texts->first) : std::nullopt;
  const auto right = texts ? factor_of(task, *fold, texts->second) : std::nullopt;
  if (!left || !right) return std::nullopt;
  auto out = laid_out(*fold, *left, *right);
  if (!out) out = laid_out(*fold, *right, *left);
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
  auto& kept = out->rest.reference.stages;
  for (std::size_t i = kept.size(); i-- > 0;) {
    if (!is_read(kept[i])) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace cupilot
