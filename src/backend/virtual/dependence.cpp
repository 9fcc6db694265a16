#include "backend/virtual/counts.hpp"

namespace cupilot {

Dependence dependence_of(const ptx::Module& module, const ptx::Function& entry) {
  Dependence found;
  const auto look = [&](const ptx::Function& function) {
    for (const ptx::Instruction& instruction : function.instructions) {
      const ptx::Form& form = module.form(instruction);
      const bool global = form.space == ptx::Space::global || form.space == ptx::Space::generic;
      if (form.opcode == ptx::Opcode::op_atom && global) found.tickets = true;
      const bool ordered = form.has("acquire") || form.has("volatile") || form.has("relaxed");
      if (form.opcode == ptx::Opcode::op_ld && global && ordered) found.waits = true;
      const bool sums = (form.opcode == ptx::Opcode::op_red && global) ||
                        (form.opcode == ptx::Opcode::op_cp && form.has("reduce"));
      const bool adds = form.opcode == ptx::Opcode::op_atom && !form.types.empty() &&
                        ptx::is_float(form.types.back());
      if (sums || (adds && global)) found.sums = true;
    }
  };
  look(entry);
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry) look(function);
  }
  return found;
}

}  // namespace cupilot
