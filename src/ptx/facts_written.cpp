// Whether code may write a module variable: addresses of variables are followed through registers.
#include "ptx/facts.hpp"
#include "ptx/spread.hpp"

namespace cupilot::ptx {
namespace {

// What a register may hold of a variable's address. `derived` is anything that tells its bits; only a `pointer`, the address
// plus something that does not depend on it, may be loaded through without the value loaded telling the address in turn.
enum class Hold : std::uint8_t { nothing, pointer, derived };

struct Taint {
  Hold hold = Hold::nothing;
  std::uint32_t variable = none_index;  // one of those it may be of
};

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

// Whether the first operand is a register that takes the result, and nothing else is changed. An opcode this does not know
// changes something.
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
      function_ = &function;
      registers_.assign(function.registers.size(), {});
      Spread(function).run([&](std::uint32_t i, auto changed) {
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
      if (const Taint part = of(function_->operands[first + i]); part.hold != Hold::nothing) all = {Hold::derived, part.variable};
    }
    return all;
  }

  Taint of(const Operand& operand) {
    if (operand.kind == OperandKind::vector) return parts_of(operand.index, operand.count);
    if (operand.kind != OperandKind::address) return of_base(operand.kind, operand.index);
    const Taint coordinates = parts_of(operand.coordinates, operand.count);
    return coordinates.hold != Hold::nothing ? coordinates : of_base(operand.base, operand.index);
  }

  // Reading through a pointer tells nothing of where it points. In other spaces, or through anything else, a table of known
  // contents would turn an address into data.
  static bool is_plain_read(const Form& form, const Operand& operand, const Taint& taint) {
    const bool space = form.space == Space::global || form.space == Space::generic || form.space == Space::constant;
    return operand.kind == OperandKind::address && taint.hold == Hold::pointer && (space || form.opcode == Opcode::op_cp);
  }

  // Instructions whose result is still a pointer when operand `i` is one and no other operand is tainted.
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

  Taint result_of(const Instruction& instruction, const Form& form) {
    Taint result;
    std::uint32_t tainted = 0;
    for (std::uint32_t i = 1; i < instruction.operand_count; ++i) {
      const Operand& operand = function_->operands[instruction.first_operand + i];
      const Taint taint = of(operand);
      if (taint.hold == Hold::nothing) continue;
      if (reads_memory(form) && is_plain_read(form, operand, taint)) continue;
      ++tainted;
      const bool kept = taint.hold == Hold::pointer && operand.kind != OperandKind::vector && keeps_pointer(form, i);
      result = {kept && result.hold != Hold::derived ? Hold::pointer : Hold::derived, taint.variable};
    }
    if (tainted > 1 && form.opcode != Opcode::op_selp) result.hold = Hold::derived;
    if (instruction.guard != none_index && registers_[instruction.guard].hold != Hold::nothing) {
      result = {Hold::derived, registers_[instruction.guard].variable};
    }
    return result;
  }

  template <class Changed>
  void raise(const Operand& target, const Taint& taint, bool whole, Changed changed) {
    each_register(*function_, target, [&](std::uint32_t reg) {
      const Hold hold = whole ? taint.hold : Hold::derived;
      if (registers_[reg].hold >= hold) return;
      registers_[reg] = {hold, taint.variable};
      changed(reg);
    });
  }

  void escape(const Taint& taint) {
    if (taint.hold != Hold::nothing && !written_) written_ = taint.variable;
  }

  // Copies read through their later operands; everything else that changes memory or flow must not see an address at all.
  void check_effect(const Instruction& instruction, const Form& form) {
    for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
      const Operand& operand = function_->operands[instruction.first_operand + i];
      const Taint taint = of(operand);
      if (form.opcode == Opcode::op_cp && (i == 1 || is_prefetch(form)) && is_plain_read(form, operand, taint)) continue;
      escape(taint);
    }
    if (instruction.guard != none_index) escape(registers_[instruction.guard]);
  }

  template <class Changed>
  void step(const Instruction& instruction, Changed changed) {
    const Form& form = module_.form(instruction);
    if (is_prefetch(form) && form.opcode != Opcode::op_cp) return;
    const Operand* target = instruction.operand_count > 0 ? &function_->operands[instruction.first_operand] : nullptr;
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
  std::optional<std::uint32_t> written_;
};

}  // namespace

std::optional<std::uint32_t> written_variable(const Module& module) { return Walk(module).written(); }

}  // namespace cupilot::ptx
