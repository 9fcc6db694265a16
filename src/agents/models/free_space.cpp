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

// Cores and tiles of matrix products say nothing to a task without one.
bool is_of_products(const Technique& row) {
  return row.of == "products" || row.group == "core" ||
         std::count(row.targets.begin(), row.targets.end(), Resource::tensor_pipe) > 0;
}

}  // namespace

Result<std::unique_ptr<Space>> free_space(const Task& task,
                                          const std::vector<Technique>& techniques) {
  SpaceModel model;
  model.techniques.assign(catalogue().begin(), catalogue().end());
  model.techniques.insert(model.techniques.end(), techniques.begin(), techniques.end());
  std::vector<Technique>& rows = model.techniques;
  if (is_matmul_like(task)) return build_space(std::move(model));
  std::erase_if(rows, is_of_products);
  // What needs a technique that is not there goes too, and so on.
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
