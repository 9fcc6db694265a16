#include "ptx/syntax/kept.hpp"

#include <algorithm>
#include <vector>

namespace cupilot::ptx {
namespace {

// Indices of what one function names of a kind.
template <class Visit>
void each_named(const Function& function, OperandKind wanted, Visit visit) {
  for (const Operand& operand : function.operands) {
    const OperandKind kind = operand.kind == OperandKind::address ? operand.base : operand.kind;
    if (kind == wanted) visit(operand.index);
  }
}

std::vector<bool> functions_reached(const Module& module, std::span<const std::string> names) {
  std::vector<bool> reached(module.functions.size(), false);
  std::vector<std::uint32_t> todo;
  const auto reach = [&](std::uint32_t index) {
    if (reached[index]) return;
    reached[index] = true;
    todo.push_back(index);
  };
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    if (function.is_entry && std::find(names.begin(), names.end(), function.name) != names.end())
      reach(i);
  }
  while (!todo.empty()) {
    const Function& function = module.functions[todo.back()];
    todo.pop_back();
    each_named(function, OperandKind::function, reach);
    for (const Table& table : function.tables) {
      if (table.is_branch) continue;
      for (const std::uint32_t target : table.targets) reach(target);
    }
  }
  return reached;
}

}  // namespace

void keep_entries(Module& module, std::span<const std::string> names) {
  const std::vector<bool> reached = functions_reached(module, names);
  std::vector<bool> named(module.variables.size(), false);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    Function& function = module.functions[i];
    if (reached[i]) {
      each_named(function, OperandKind::variable, [&](std::uint32_t v) { named[v] = true; });
      continue;
    }
    Function empty;
    empty.name = std::move(function.name);
    empty.line = function.line;
    empty.has_body = true;
    function = std::move(empty);
  }
  const bool leads_on =
      std::any_of(module.variables.begin(), module.variables.end(),
                  [](const Variable& variable) { return variable.symbolic_initial; });
  if (leads_on) return;  // addresses in initialisers may lead to any of them
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i]) continue;
    module.variables[i].bytes = 0;
    module.variables[i].is_extern = false;
    module.variables[i].initial.clear();
  }
}

}  // namespace cupilot::ptx
