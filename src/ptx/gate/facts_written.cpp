// Decides if code may write a module variable: addresses of variables are followed through
// registers.
#include <algorithm>

#include "ptx/gate/facts.hpp"
#include "ptx/syntax/dataflow.hpp"
#include "ptx/syntax/flags.hpp"
#include "ptx/syntax/system_call.hpp"

namespace cupilot::ptx {
namespace {

// The part of a variable's address that a register may hold. `derived` is anything that tells its
// bits; only a `pointer`, the address plus something that does not depend on it, may be loaded
// through without the value loaded telling the address in turn.
enum class Hold : std::uint8_t { nothing, pointer, derived };

struct Taint {
  Hold hold = Hold::nothing;
  std::uint32_t variable =
      none_index;  // one of those it may be of; grid_barrier only when it is of no variable
};

bool of_barrier(const Taint& taint) {
  return taint.hold != Hold::nothing && taint.variable == grid_barrier;
}

Taint joined(const Taint& a, const Taint& b) {
  if (a.hold == Hold::nothing || b.hold == Hold::nothing) return a.hold == Hold::nothing ? b : a;
  return {std::max(a.hold, b.hold), a.variable == grid_barrier ? b.variable : a.variable};
}

bool reads_memory(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_ld:
    case Opcode::op_ldu:
    case Opcode::op_ldmatrix:
      return true;
    case Opcode::op_wmma:
      return form.has("load");
    default:
      return false;
  }
}

bool is_prefetch(const Form& form) {
  return form.opcode == Opcode::op_prefetch || form.opcode == Opcode::op_prefetchu ||
         (form.opcode == Opcode::op_cp && form.has("prefetch"));
}

// True if the first operand is a register that takes the result, and nothing else is changed. An
// opcode this does not know changes something.
bool only_computes(const Form& form) {
  switch (form.opcode) {
    case Opcode::unknown:
    case Opcode::op_st:
    case Opcode::op_red:
    case Opcode::op_atom:
    case Opcode::op_stmatrix:
    case Opcode::op_cp:
    case Opcode::op_call:
    case Opcode::op_ret:
    case Opcode::op_exit:
    case Opcode::op_bra:
    case Opcode::op_brx:
    case Opcode::op_bar:
    case Opcode::op_barrier:
    case Opcode::op_mbarrier:
    case Opcode::op_multimem:
    case Opcode::op_tensormap:
    case Opcode::op_discard:
    case Opcode::op_applypriority:
    case Opcode::op_clusterlaunchcontrol:
    case Opcode::op_sust:
    case Opcode::op_sured:
    case Opcode::op_trap:
    case Opcode::op_nanosleep:
    case Opcode::op_stackrestore:
    case Opcode::op_activemask:  // tells who is here, so a guard would go into it
      return false;
    case Opcode::op_wmma:
      return !form.has("store");
    default:
      return true;
  }
}

class Walk {
 public:
  explicit Walk(const Module& module) : module_(module) {}

  std::optional<std::uint32_t> written() {
    for (const Function& function : module_.functions) {
      if (std::none_of(function.operands.begin(), function.operands.end(),
                       [&](const Operand& o) { return is_source(o); }))
        continue;
      function_ = &function;
      registers_.assign(function.registers.size(), {});
      find_told();
      Dataflow(function).run([&](std::uint32_t i, auto changed) {
        if (!written_) step(function.instructions[i], changed);
      });
      if (!written_) check_results(function);
      if (written_) return written_;
    }
    return std::nullopt;
  }

 private:
  bool is_tracked(std::uint32_t variable) const {
    const Space space = module_.variables[variable].space;
    return space == Space::global || space == Space::constant;
  }

  // True for the operands at which taint begins; a function without one has nothing to follow.
  bool is_source(const Operand& operand) const {
    const OperandKind kind = operand.kind == OperandKind::address ? operand.base : operand.kind;
    return of_grid_barrier(operand) || (kind == OperandKind::variable && is_tracked(operand.index));
  }

  Taint of_base(OperandKind kind, std::uint32_t index) {
    if (kind == OperandKind::reg) return registers_[index];
    if (kind != OperandKind::variable || !is_tracked(index)) return {};
    // An initialiser that holds addresses gives code a way to variables that no instruction names.
    if (module_.variables[index].symbolic_initial) written_ = index;
    return {Hold::pointer, index};
  }

  Taint parts_of(std::uint32_t first, std::uint32_t count) {
    Taint all;
    for (std::uint32_t i = 0; i < count; ++i) {
      Taint part = of(function_->operands[first + i]);
      if (part.hold != Hold::nothing && !of_barrier(part)) part.hold = Hold::derived;
      all = joined(all, part);
    }
    return all;
  }

  Taint of(const Operand& operand) {
    if (operand.kind == OperandKind::vector) return parts_of(operand.index, operand.count);
    if (of_grid_barrier(operand)) return {Hold::pointer, grid_barrier};
    if (operand.kind != OperandKind::address) return of_base(operand.kind, operand.index);
    const Taint coordinates = parts_of(operand.coordinates, operand.count);
    return coordinates.hold != Hold::nothing ? coordinates : of_base(operand.base, operand.index);
  }

  // Reading through a pointer tells nothing of where it points. In other spaces, or through
  // anything else, a table of known contents would turn an address into data.
  static bool is_plain_read(const Form& form, const Operand& operand, const Taint& taint) {
    const bool space = form.space == Space::global || form.space == Space::generic ||
                       form.space == Space::constant;
    return operand.kind == OperandKind::address && taint.hold == Hold::pointer &&
           (space || form.opcode == Opcode::op_cp);
  }

  // Instructions whose result is still a pointer when operand `i` is one and no other operand is
  // tainted.
  static bool keeps_pointer(const Form& form, std::uint32_t i) {
    switch (form.opcode) {
      case Opcode::op_mov:
      case Opcode::op_cvta:
        return true;
      case Opcode::op_add:
        return true;
      case Opcode::op_sub:
        return i == 1;
      case Opcode::op_mad:
        return i == 3;
      case Opcode::op_selp:
        return i == 1 || i == 2;
      default:
        return false;
    }
  }

  bool is_number(const Instruction& instruction, std::uint32_t i, std::uint64_t number) const {
    if (i >= instruction.operand_count) return false;
    const Operand& operand = function_->operands[instruction.first_operand + i];
    return operand.kind == OperandKind::immediate && operand.bits == number;
  }

  // True for instructions that join the halves of the barrier's address and step to its words.
  // Nothing else may see it: bits taken out of it could be put together again out of sight.
  bool keeps_barrier(const Instruction& instruction, const Form& form) const {
    switch (form.opcode) {
      case Opcode::op_mov:
      case Opcode::op_cvta:
      case Opcode::op_add:
      case Opcode::op_or:
        return true;
      case Opcode::op_cvt:
        return form.types.size() == 2 && bytes_of(form.types[0]) == 8 &&
               bytes_of(form.types[1]) == 4;
      case Opcode::op_shl:
        return is_number(instruction, 2, 32);
      case Opcode::op_bfi:
        return is_number(instruction, 3, 32) && is_number(instruction, 4, 32);
      default:
        return false;
    }
  }

  // Arriving adds to a word of the barrier, and code may ask whether there is one and look at it.
  bool uses_barrier(const Instruction& instruction, const Form& form, std::uint32_t i) const {
    const Operand& operand = function_->operands[instruction.first_operand + i];
    if (operand.kind == OperandKind::address) {
      const bool adds = form.opcode == Opcode::op_atom && form.has("add") &&
                        form.types.size() == 1 && bytes_of(form.types[0]) == 4;
      return adds || form.opcode == Opcode::op_ld;
    }
    return form.opcode == Opcode::op_setp && (form.has("ne") || form.has("eq")) &&
           is_number(instruction, 2, 0);
  }

  Taint result_of(const Instruction& instruction, const Form& form) {
    Taint result;
    std::uint32_t tainted = 0;
    for (std::uint32_t i = 1; i < instruction.operand_count; ++i) {
      const Operand& operand = function_->operands[instruction.first_operand + i];
      const Taint taint = of(operand);
      if (taint.hold == Hold::nothing) continue;
      if (reads_memory(form) && !of_barrier(taint) && is_plain_read(form, operand, taint)) continue;
      if (of_barrier(taint) && taint.hold == Hold::pointer && uses_barrier(instruction, form, i))
        continue;
      const bool barrier = of_barrier(taint);
      if (!barrier) ++tainted;
      const bool kept = taint.hold == Hold::pointer &&
                        (barrier ? keeps_barrier(instruction, form)
                                 : operand.kind != OperandKind::vector && keeps_pointer(form, i));
      result = joined(result, {kept ? Hold::pointer : Hold::derived, taint.variable});
    }
    if (tainted > 1 && form.opcode != Opcode::op_selp) result.hold = Hold::derived;
    if (instruction.guard != none_index && registers_[instruction.guard].hold != Hold::nothing) {
      result = joined(result, {Hold::derived, registers_[instruction.guard].variable});
    }
    return result;
  }

  template <class Changed>
  void raise(const Operand& target, const Taint& taint, bool whole, Changed changed) {
    each_register(*function_, target, [&](std::uint32_t reg) {
      const Hold hold = whole ? taint.hold : Hold::derived;
      const Taint now = joined(registers_[reg], {hold, taint.variable});
      if (now.hold == registers_[reg].hold && of_barrier(now) == of_barrier(registers_[reg]))
        return;
      registers_[reg] = now;
      changed(reg);
    });
  }

  void escape(const Taint& taint) {
    if (taint.hold != Hold::nothing && !written_) written_ = taint.variable;
  }

  // A value stored into a parameter that the driver's own functions are called with, which read
  // what it points to: the text of an assertion, say.
  bool tells_system(const Instruction& instruction, const Form& form) const {
    if (form.opcode != Opcode::op_st || form.space != Space::param) return false;
    const Operand& target = function_->operands[instruction.first_operand];
    return target.kind == OperandKind::address && target.base == OperandKind::formal &&
           told_[target.index];
  }

  void find_told() {
    told_.assign(function_->variables.size(), false);
    for (const Instruction& call : function_->instructions) {
      if (module_.form(call).opcode != Opcode::op_call || call.operand_count < 3) continue;
      const Operand* operands = &function_->operands[call.first_operand];
      if (operands[1].kind != OperandKind::function ||
          system_call_of(module_.functions[operands[1].index]) == SystemCall::none)
        continue;
      for (std::uint32_t i = 0; i < operands[2].count; ++i) {
        const Operand& argument = function_->operands[operands[2].index + i];
        if (argument.kind == OperandKind::formal) told_[argument.index] = true;
      }
    }
  }

  // Copies read through their later operands; everything else that changes memory or flow must not
  // see an address at all.
  void check_effect(const Instruction& instruction, const Form& form) {
    if (tells_system(instruction, form)) return;
    for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
      const Operand& operand = function_->operands[instruction.first_operand + i];
      const Taint taint = of(operand);
      if (of_barrier(taint) && taint.hold == Hold::pointer && uses_barrier(instruction, form, i))
        continue;
      if (form.opcode == Opcode::op_cp && (i == 1 || is_prefetch(form)) &&
          is_plain_read(form, operand, taint))
        continue;
      escape(taint);
    }
    if (instruction.guard != none_index) escape(registers_[instruction.guard]);
  }

  template <class Changed>
  void step(const Instruction& instruction, Changed changed) {
    const Form& form = module_.form(instruction);
    if (is_prefetch(form) && form.opcode != Opcode::op_cp) return;
    const Operand* target =
        instruction.operand_count > 0 ? &function_->operands[instruction.first_operand] : nullptr;
    if (target == nullptr || !only_computes(form) || target->kind == OperandKind::address) {
      check_effect(instruction, form);
      return;
    }
    const Taint result = result_of(instruction, form);
    if (result.hold == Hold::nothing) return;
    raise(*target, result, target->kind == OperandKind::reg, changed);
    if (form.has("cc")) escape(result);  // the carry is a register no operand names
  }

  // A function may return in registers, which no instruction of its caller tells.
  void check_results(const Function& function) {
    for (std::uint32_t i = 0; i < function.result_count; ++i) {
      if (function.variables[i].space != Space::reg) continue;
      for (const Taint& taint : registers_) escape(taint);
    }
  }

  const Module& module_;
  const Function* function_ = nullptr;
  std::vector<Taint> registers_;  // of the function being walked
  std::vector<bool> told_;        // its parameter variables that calls of the system take
  std::optional<std::uint32_t> written_;
};

}  // namespace

std::optional<std::uint32_t> written_variable(const Module& module) {
  return Walk(module).written();
}

}  // namespace cupilot::ptx
