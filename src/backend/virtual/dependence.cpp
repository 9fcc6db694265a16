#include <vector>

#include "backend/virtual/counts.hpp"

namespace cupilot {
namespace {

// Counts the times that the text of a function names each register.
std::vector<int> mentions_of(const ptx::Function& function) {
  std::vector<int> times(function.registers.size(), 0);
  for (const ptx::Operand& operand : function.operands) {
    const auto kind = operand.kind == ptx::OperandKind::address ? operand.base : operand.kind;
    if (kind == ptx::OperandKind::reg) ++times[operand.index];
  }
  for (const ptx::Instruction& instruction : function.instructions) {
    if (instruction.guard != ptx::none_index) ++times[instruction.guard];
  }
  return times;
}

// True if the text names the result of an atomic nowhere else.
bool is_unread(const ptx::Function& function, const ptx::Instruction& atomic,
               const std::vector<int>& mentions) {
  const ptx::Operand& result = function.operands[atomic.first_operand];
  return result.kind == ptx::OperandKind::sink ||
         (result.kind == ptx::OperandKind::reg && mentions[result.index] == 1);
}

void look(const ptx::Module& module, const ptx::Function& function, Dependence& found) {
  const std::vector<int> mentions = mentions_of(function);
  for (const ptx::Instruction& instruction : function.instructions) {
    const ptx::Form& form = module.form(instruction);
    const bool global = form.space == ptx::Space::global || form.space == ptx::Space::generic;
    const bool atomic = form.opcode == ptx::Opcode::op_atom && global;
    const bool unread = atomic && is_unread(function, instruction, mentions);
    const bool ordered = form.has("acquire") || form.has("volatile") || form.has("relaxed");
    if (form.opcode == ptx::Opcode::op_ld && global && ordered) found.waits = true;
    const bool sums = (form.opcode == ptx::Opcode::op_red && global) ||
                      (form.opcode == ptx::Opcode::op_cp && form.has("reduce"));
    const bool adds = atomic && !form.types.empty() && ptx::is_float(form.types.back());
    found.tickets |= atomic;
    found.draws |= atomic && !unread;
    found.sums |= sums || adds;
    found.gathers |= sums || adds || unread;
    found.adds |= (sums || unread) && form.has("add");
  }
}

}  // namespace

Dependence dependence_of(const ptx::Module& module, const ptx::Function& entry) {
  Dependence found;
  look(module, entry, found);
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry) look(module, function, found);
  }
  return found;
}

std::optional<Dependence> dependence_of(const CompiledKernel& kernel,
                                        const KernelPrograms& programs,
                                        const ResolvedLaunch& launch) {
  const EntryFacts* facts = find_entry(kernel, launch.entry);
  const ptx::Function* entry = facts == nullptr ? nullptr : programs.module().entry(facts->name);
  if (entry == nullptr || launch.cooperative) return std::nullopt;
  return dependence_of(programs.module(), *entry);
}

}  // namespace cupilot
