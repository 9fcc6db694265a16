// Which module variables code may write: a flow-insensitive walk of addresses through registers.
#include <algorithm>
#include <set>

#include "ptx/facts.hpp"

namespace cupilot::ptx {
namespace {

using Set = std::set<std::uint32_t>;  // of module variables

// Instructions whose every operand must be free of variables' addresses, else they count as written: destinations of stores
// cannot be told from values stored, and a stored address may be used by anyone.
bool writes_memory(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_st:
    case Opcode::op_red:
    case Opcode::op_atom:
    case Opcode::op_stmatrix:
    case Opcode::op_call:
    case Opcode::op_sust:
    case Opcode::op_sured:
    case Opcode::op_multimem:
    case Opcode::op_tensormap:
    case Opcode::op_mbarrier:
    case Opcode::op_discard:
    case Opcode::op_clusterlaunchcontrol:
    case Opcode::op_ret:
    case Opcode::unknown:
      return true;
    case Opcode::op_wmma:
      return form.has("store");
    case Opcode::op_cp:
      return form.has("reduce");
    default:
      return false;
  }
}

bool reads_memory(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_ld:
    case Opcode::op_ldu:
    case Opcode::op_ldmatrix:
    case Opcode::op_prefetch:
    case Opcode::op_prefetchu:
      return true;
    case Opcode::op_wmma:
      return form.has("load");
    default:
      return false;
  }
}

class Walk {
 public:
  explicit Walk(const Module& module) : module_(module) {
    for (std::uint32_t i = 0; i < module.variables.size(); ++i) {
      const Variable& variable = module.variables[i];
      if (variable.space != Space::global) continue;
      // An initialiser that holds addresses gives code a way to others that no instruction names.
      if (variable.symbolic_initial) symbolic_ = true;
    }
  }

  Set written() {
    for (const Function& function : module_.functions) walk(function);
    if (symbolic_ && !referenced_.empty()) return all_globals();
    return written_;
  }

 private:
  Set all_globals() const {
    Set all;
    for (std::uint32_t i = 0; i < module_.variables.size(); ++i) {
      if (module_.variables[i].space == Space::global) all.insert(i);
    }
    return all;
  }

  void note(std::uint32_t variable, Set& into) {
    if (module_.variables[variable].space != Space::global) return;
    into.insert(variable);
    referenced_.insert(variable);
  }

  // Variables whose address an operand may hold.
  Set of(const Function& function, const Operand& operand) {
    Set result;
    const OperandKind kind = operand.kind == OperandKind::address ? operand.base : operand.kind;
    if (kind == OperandKind::variable) note(operand.index, result);
    if (kind == OperandKind::reg) result = registers_[operand.index];
    const std::uint32_t first = operand.kind == OperandKind::address ? operand.coordinates : operand.index;
    if (operand.kind == OperandKind::vector || operand.kind == OperandKind::address) {
      for (std::uint32_t i = 0; i < operand.count; ++i) merge(result, of(function, function.operands[first + i]));
    }
    return result;
  }

  static bool merge(Set& into, const Set& from) {
    const std::size_t before = into.size();
    into.insert(from.begin(), from.end());
    return into.size() != before;
  }

  bool taint(const Function& function, const Operand& target, const Set& from) {
    if (target.kind == OperandKind::reg) return merge(registers_[target.index], from);
    bool changed = false;
    if (target.kind == OperandKind::vector) {
      for (std::uint32_t i = 0; i < target.count; ++i) changed |= taint(function, function.operands[target.index + i], from);
    }
    return changed;
  }

  bool step(const Function& function, const Instruction& instruction) {
    const Form& form = module_.form(instruction);
    if (instruction.operand_count == 0) return false;
    const Operand* operands = &function.operands[instruction.first_operand];
    if (writes_memory(form)) {
      for (std::uint32_t i = 0; i < instruction.operand_count; ++i) merge(written_, of(function, operands[i]));
      return false;
    }
    if (form.opcode == Opcode::op_cp) {
      merge(written_, of(function, operands[0]));
      return false;
    }
    Set sources;
    for (std::uint32_t i = reads_memory(form) ? 0 : 1; i < instruction.operand_count; ++i) {
      merge(sources, of(function, operands[i]));
    }
    if (reads_memory(form) || sources.empty()) return false;
    return taint(function, operands[0], sources);
  }

  void walk(const Function& function) {
    registers_.assign(function.registers.size(), {});
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : function.instructions) changed |= step(function, instruction);
    }
  }

  const Module& module_;
  std::vector<Set> registers_;  // of the function being walked
  Set written_, referenced_;
  bool symbolic_ = false;
};

}  // namespace

std::vector<std::uint32_t> written_variables(const Module& module) {
  const Set written = Walk(module).written();
  return {written.begin(), written.end()};
}

}  // namespace cupilot::ptx
