#include "agents/propose/tunable_context.hpp"

namespace cupilot {

std::vector<std::size_t> parameters_in(const TunableContext& context,
                                       const std::set<std::string>& names) {
  std::vector<std::size_t> parameters;
  for (const std::string& name : names) {
    if (const auto at = context.moving.find(name); at != context.moving.end())
      parameters.push_back(at->second);
  }
  return parameters;
}

std::set<std::string> names_through_lets(const NamedExprs& lets,
                                         const std::vector<const Expr*>& texts) {
  std::set<std::string> names;
  std::vector<const Expr*> pending = texts;
  while (!pending.empty()) {
    const Expr* expr = pending.back();
    pending.pop_back();
    for (const std::string& name : names_in(expr->text)) {
      if (!names.insert(name).second) continue;
      for (const auto& [let, definition] : lets) {
        if (let == name) pending.push_back(&definition);
      }
    }
  }
  return names;
}

}  // namespace cupilot
