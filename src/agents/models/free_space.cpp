#include <algorithm>

#include <cupilot/parts/model_agents.hpp>

#include "strategy/build_space.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

bool holds(const std::vector<Technique>& rows, std::string_view name) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Technique& row) { return row.name == name; });
}

// "a|b when c": whether an alternative is there.
bool can_be_met(const std::vector<Technique>& rows, std::string_view need) {
  need = need.substr(0, need.find(' '));
  while (true) {
    const std::size_t bar = need.find('|');
    if (holds(rows, need.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    need.remove_prefix(bar + 1);
  }
}

bool takes_exponentials(const OperatorStage& stage) {
  return stage.term.find("exp") != std::string::npos ||
         stage.finish.find("exp") != std::string::npos;
}

// True if the operator's work is of the kind that Technique::of names.
bool is_of(const OperatorRow& row, std::string_view of) {
  const auto any = [&](auto holds) {
    return std::any_of(row.stages.begin(), row.stages.end(), holds);
  };
  const auto folds = [](const OperatorStage& stage) { return stage.kind != StageKind::map; };
  if (of == "windows") return row.group == "window";
  if (of == "exponentials") return any(takes_exponentials);
  if (of == "normalised_exponentials")
    return any(
        [&](const OperatorStage& stage) { return folds(stage) && takes_exponentials(stage); });
  return row.factors > 0 || any(folds);
}

// A reference text of the user's own says little: exponentials are named, and normalised ones take
// a largest one from them.
bool may_have_work(const std::string& text, std::string_view of) {
  const auto names = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (text.empty() || (of != "exponentials" && of != "normalised_exponentials")) return true;
  return names("exp") && (of == "exponentials" || names("max"));
}

bool has_triangle(const Task& task) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
    return tensor.fill.structure != Structure::dense &&
           tensor.fill.structure != Structure::symmetric;
  });
}

// True if the task has work of that kind, or may have.
bool has_work(const Task& task, std::string_view of) {
  if (of.empty()) return true;
  if (of == "products") return is_matmul_like(task);
  if (of == "triangular_products") return is_matmul_like(task) && has_triangle(task);
  const std::string& text = task.reference.text;
  if (task.operations.empty()) return may_have_work(text, of);
  return std::any_of(task.operations.begin(), task.operations.end(), [&](const Operation& one) {
    const OperatorRow* row = find_operator(one.kind);
    return row == nullptr ? may_have_work(text, of) : is_of(*row, of);
  });
}

// Cores of matrix products say nothing to a task without one.
bool is_core_of_products(const Technique& row) {
  return row.group == "core" ||
         std::count(row.targets.begin(), row.targets.end(), Resource::tensor_pipe) > 0;
}

// Tensor cores round what strict fp32 keeps.
bool is_too_coarse(const Technique& row, Precision precision) {
  return precision == Precision::fp32_strict &&
         std::count(row.targets.begin(), row.targets.end(), Resource::tensor_pipe) > 0;
}

}  // namespace

Result<std::unique_ptr<Space>> free_space(const Task& task,
                                          const std::vector<Technique>& techniques) {
  SpaceModel model;
  model.techniques.assign(catalogue().begin(), catalogue().end());
  model.techniques.insert(model.techniques.end(), techniques.begin(), techniques.end());
  std::vector<Technique>& rows = model.techniques;
  const bool products = is_matmul_like(task);
  std::erase_if(rows, [&](const Technique& row) {
    return !has_work(task, row.of) || (!products && is_core_of_products(row)) ||
           is_too_coarse(row, task.precision);
  });
  // Drops techniques that need an absent one, then those that need these, and so on.
  for (std::size_t before = 0; before != rows.size();) {
    before = rows.size();
    const std::vector<Technique> left = rows;
    std::erase_if(rows, [&](const Technique& row) {
      return !std::all_of(row.needs.begin(), row.needs.end(),
                          [&](const std::string& need) { return can_be_met(left, need); });
    });
  }
  for (Technique& row : rows)
    std::erase_if(row.excludes, [&](const std::string& name) { return !holds(rows, name); });
  return build_space(std::move(model));
}

}  // namespace cupilot
