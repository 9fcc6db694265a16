#include "program/hooks/weighted.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "program/hooks/call_text.hpp"
#include "program/hooks/operands.hpp"

namespace cupilot {
namespace {

constexpr const char* exponential = "exp_";

// Names of coordinates with more than one place.
Names wide(const std::vector<StageAxis>& axes) {
  Names out;
  for (const StageAxis& axis : axes) {
    if (axis.extent.text != "1") out.push_back(axis.name);
  }
  return out;
}

Names coordinates(const ReferenceStage& stage) {
  Names out = wide(stage.free);
  const Names over = wide(stage.over);
  out.insert(out.end(), over.begin(), over.end());
  return out;
}

// The stage whose value at these very coordinates the text is, else null.
const ReferenceStage* stage_at(const Task& task, const ReferenceStage& stage,
                               const std::string& text, const Names& at) {
  const auto value = value_of(stage, text);
  if (!value || value->first->extents.size() != value->second.size()) return nullptr;
  Names places;
  for (std::size_t d = 0; d < value->second.size(); ++d) {
    if (value->first->extents[d].text != "1") places.push_back(value->second[d]);
  }
  return places == at ? stage_named(task, value->first->source) : nullptr;
}

bool is_fold(const ReferenceStage* stage, Combine how) {
  return stage != nullptr && stage->kind == StageKind::fold && stage->combine == how &&
         stage->finish.empty() && wide(stage->over).size() == 1;
}

// The texts a and b of `exp_(a - b)`.
std::optional<std::pair<std::string, std::string>> distance_texts(const std::string& text) {
  const std::string whole = trimmed(text);
  std::size_t close = 0;
  const std::size_t open = find_call(whole, exponential, 0);
  if (open != std::char_traits<char>::length(exponential)) return std::nullopt;
  const auto arguments = arguments_at(whole, open, close);
  if (arguments.size() != 1 || close + 1 != whole.size()) return std::nullopt;
  const std::size_t minus = arguments[0].find(" - ");
  if (minus == std::string::npos) return std::nullopt;
  return std::pair(arguments[0].substr(0, minus), arguments[0].substr(minus + 3));
}

// The scores of which a stage's text is the exponential of the distance from the largest of a row.
const ReferenceStage* scores_of(const Task& task, const ReferenceStage& stage,
                                const std::string& text) {
  const auto distance = distance_texts(text);
  Names row = coordinates(stage);
  if (!distance || row.size() < 2) return nullptr;
  const ReferenceStage* scores = stage_at(task, stage, distance->first, row);
  row.pop_back();
  const ReferenceStage* largest = stage_at(task, stage, distance->second, row);
  if (scores == nullptr || !is_fold(largest, Combine::max)) return nullptr;
  return stage_at(task, *largest, largest->term, coordinates(*largest)) == scores ? scores
                                                                                  : nullptr;
}

// The scores of which a stage's elements are exponentials over their sum along the last coordinate.
const ReferenceStage* weighed(const Task& task, const ReferenceStage& stage) {
  const std::size_t over = stage.term.rfind(" / ");
  const bool plain = stage.kind == StageKind::map ||
                     (stage.kind == StageKind::fold && stage.over.empty() && stage.finish.empty());
  Names row = coordinates(stage);
  if (!plain || over == std::string::npos || row.size() < 2) return nullptr;
  const ReferenceStage* scores = scores_of(task, stage, stage.term.substr(0, over));
  row.pop_back();
  const ReferenceStage* total = stage_at(task, stage, stage.term.substr(over + 3), row);
  if (scores == nullptr || !is_fold(total, Combine::sum)) return nullptr;
  return scores_of(task, *total, total->term) == scores ? scores : nullptr;
}

bool are_equal(const Task& task, const Expr& a, const Expr& b) {
  for (const auto* shapes : {&task.time_shapes, &task.check_shapes}) {
    for (const Workload& one : *shapes) {
      const auto x = evaluate_or_error(a, task_scope(task, one));
      const auto y = evaluate_or_error(b, task_scope(task, one));
      if (!x || !y || *x != *y) return false;
    }
  }
  return true;
}

bool of_one_type(const Task& task, const Names& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const std::string& name) {
    return find_tensor(task, name)->type == find_tensor(task, tensors.front())->type;
  });
}

// The task whose output are the scores.
Task task_of_scores(const Task& task, const ReferenceStage& scores, const std::string& output) {
  Task out = task;
  auto& stages = out.reference.stages;
  stages.resize(static_cast<std::size_t>(&scores - task.reference.stages.data()) + 1);
  stages.back().name = output;
  for (Tensor& tensor : out.tensors) {
    if (tensor.name != output) continue;
    tensor.shape.clear();
    for (const StageAxis& axis : scores.free) tensor.shape.push_back(axis.extent);
  }
  return out;
}

// Values weighed as `weights` says, a stage's text of a factor, and `values`, the other's.
std::optional<GraphWeighted> weighed_by(const Task& task, const std::string& weights,
                                        const std::string& values) {
  const ReferenceStage& sum = task.reference.stages.back();
  const auto by = value_of(sum, weights);
  const auto of = factor_of(task, sum, values);
  const ReferenceStage* stage = by ? stage_named(task, by->first->source) : nullptr;
  if (!of || stage == nullptr || by->second.size() != by->first->extents.size())
    return std::nullopt;
  Factor left{.tensor = stage->name};
  for (std::size_t d = 0; d < by->second.size(); ++d) {
    if (by->first->extents[d].text != "1") left.at.push_back(by->second[d]);
  }
  const ReferenceStage* scores = weighed(task, *stage);
  const auto product = scores == nullptr ? std::nullopt : laid_out(sum, left, *of);
  if (!product || product->turned_a || product->turned_b) return std::nullopt;
  auto found = graph_product(task_of_scores(task, *scores, sum.name));
  if (!found || found->turned_a || !found->turned_b || found->spans != 0 ||
      !of_one_type(task, {found->a, found->b, of->tensor, sum.name}))
    return std::nullopt;
  GraphWeighted out{*found, of->tensor, sum.name, product->n, {}};
  for (const auto& [a, b] :
       {std::pair(found->batch, product->batch), {found->m, product->m}, {found->n, product->k}}) {
    if (!are_equal(task, a, b)) return std::nullopt;
    if (a.text != b.text) out.equalities.emplace_back(fmt::format("({}) == ({})", a.text, b.text));
  }
  return out;
}

}  // namespace

std::optional<GraphWeighted> graph_weighted(const Task& task) {
  const auto& stages = task.reference.stages;
  const auto outputs = std::count_if(task.tensors.begin(), task.tensors.end(), [](const Tensor& t) {
    return t.role == Role::out || t.role == Role::in_out;
  });
  if (stages.empty() || outputs != 1 || find_tensor(task, stages.back().name) == nullptr)
    return std::nullopt;
  const ReferenceStage& sum = stages.back();
  const auto texts = factor_texts(sum.term);
  if (!is_fold(&sum, Combine::sum) || !texts) return std::nullopt;
  auto found = weighed_by(task, texts->first, texts->second);
  return found ? std::move(found) : weighed_by(task, texts->second, texts->first);
}

}  // namespace cupilot
