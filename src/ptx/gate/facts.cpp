#include "ptx/gate/facts.hpp"

#include <set>

#include "ptx/syntax/flags.hpp"

namespace cupilot::ptx {
namespace {

std::vector<std::string> all_flags(const Module& module) {
  std::set<std::string> flags;
  for (const Form& form : module.forms) {
    for (std::string& flag : flags_of(form)) flags.insert(std::move(flag));
  }
  for (const Function& function : module.functions) {
    for (const Operand& operand : function.operands) {
      if (operand.kind != OperandKind::special) continue;
      if (const std::string_view name = flag_of(static_cast<Special>(operand.index)); !name.empty())
        flags.emplace(name);
    }
  }
  return {flags.begin(), flags.end()};
}

// A form is known by its text, so that no two forms share one.
std::map<std::string, int> count_forms(const Module& module) {
  std::vector<int> counts(module.forms.size(), 0);
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.instructions) ++counts[instruction.form];
  }
  std::map<std::string, int> opcodes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) opcodes.emplace(module.forms[i].text, counts[i]);
  }
  return opcodes;
}

}  // namespace

PtxFacts facts_of(const Module& module) {
  PtxFacts facts;
  facts.opcodes = count_forms(module);
  facts.ceiling = precision_ceiling(module);
  facts.flags = all_flags(module);
  facts.writes_global_state = written_variable(module).has_value();
  if (facts.writes_global_state) facts.flags.emplace_back("module state");
  facts.normalized_hash = normalized_hash(module);
  return facts;
}

}  // namespace cupilot::ptx
