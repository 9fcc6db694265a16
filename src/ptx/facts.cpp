#include "ptx/facts.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace cupilot::ptx {
namespace {

template <class Visit>
void each_instruction(const Module& module, Visit visit) {
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.instructions) visit(function, instruction, module.form(instruction));
  }
}

bool is_arithmetic(Opcode opcode) {
  switch (opcode) {
    case Opcode::op_add:
    case Opcode::op_sub:
    case Opcode::op_mul:
    case Opcode::op_fma:
    case Opcode::op_mad:
    case Opcode::op_div:
    case Opcode::op_rcp:
    case Opcode::op_sqrt:
    case Opcode::op_rsqrt:
    case Opcode::op_ex2:
    case Opcode::op_lg2:
    case Opcode::op_sin:
    case Opcode::op_cos:
    case Opcode::op_tanh:
    case Opcode::op_atom:
    case Opcode::op_red:
      return true;
    default:
      return false;
  }
}

bool is_tensor_core(Opcode opcode) { return opcode == Opcode::op_mma || opcode == Opcode::op_wmma || opcode == Opcode::op_wgmma; }

bool has_type(const Form& form, std::initializer_list<Type> types) {
  return std::any_of(form.types.begin(), form.types.end(),
                     [&](Type type) { return std::find(types.begin(), types.end(), type) != types.end(); });
}

// What the instructions of a module compute in.
struct Arithmetic {
  bool f64 = false, f32 = false, f16 = false, bf16 = false, fp8 = false;
  bool tensor_tf32 = false, tensor_f16 = false, tensor_bf16 = false, tensor_fp8 = false;
  bool rounds_to_tf32 = false, narrows_to_bf16 = false;

  void add(const Form& form) {
    if (is_tensor_core(form.opcode)) {
      // Accumulators are f16 or f32: the first type; the operands follow.
      const bool halves = std::count(form.types.begin(), form.types.end(), Type::f16) > 0;
      tensor_tf32 |= has_type(form, {Type::tf32});
      tensor_bf16 |= has_type(form, {Type::bf16});
      tensor_fp8 |= has_type(form, {Type::e4m3, Type::e5m2});
      tensor_f16 |= halves;
      f64 |= has_type(form, {Type::f64});
      return;
    }
    if (form.opcode == Opcode::op_cvt) {
      rounds_to_tf32 |= has_type(form, {Type::tf32});
      narrows_to_bf16 |= !form.types.empty() && (form.types[0] == Type::bf16 || form.types[0] == Type::bf16x2);
      return;
    }
    if (!is_arithmetic(form.opcode)) return;
    f64 |= has_type(form, {Type::f64});
    f32 |= has_type(form, {Type::f32, Type::f32x2});
    f16 |= has_type(form, {Type::f16, Type::f16x2});
    bf16 |= has_type(form, {Type::bf16, Type::bf16x2});
    fp8 |= has_type(form, {Type::e4m3, Type::e5m2, Type::e4m3x2, Type::e5m2x2});
  }
};

// Names of the oddities of one instruction.
void flag(const Form& form, std::set<std::string>& flags) {
  static constexpr std::array whole = {Opcode::op_nanosleep,    Opcode::op_discard,        Opcode::op_applypriority,
                                       Opcode::op_createpolicy, Opcode::op_griddepcontrol, Opcode::op_prefetch,
                                       Opcode::op_alloca,       Opcode::op_setmaxnreg};
  if (std::find(whole.begin(), whole.end(), form.opcode) != whole.end()) flags.insert(std::string(name_of(form.opcode)));
  if ((form.opcode == Opcode::op_atom || form.opcode == Opcode::op_red) &&
      std::any_of(form.types.begin(), form.types.end(), is_float)) {
    flags.insert(std::string(name_of(form.opcode)) + "." + std::string(name_of(form.types.back())));
  }
  for (const std::string& modifier : form.modifiers) {
    if (modifier == "approx" || modifier == "ftz" || modifier == "volatile" || modifier == "sys") flags.insert("." + modifier);
    if (modifier.find("evict_last") != std::string::npos) flags.insert("evict_last");
  }
}

const char* flag_of(Special special) {
  switch (special) {
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
      return "%clock";
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi:
      return "%globaltimer";
    case Special::smid:
    case Special::nsmid:
      return "%smid";
    case Special::gridid:
    case Special::current_graph_exec:
      return "%gridid";
    case Special::other:
      return "%special";
    default:
      return nullptr;
  }
}

std::vector<std::string> flags_of(const Module& module) {
  std::set<std::string> flags;
  for (const Form& form : module.forms) flag(form, flags);
  for (const Function& function : module.functions) {
    for (const Operand& operand : function.operands) {
      if (operand.kind != OperandKind::special) continue;
      if (const char* name = flag_of(static_cast<Special>(operand.index))) flags.insert(name);
    }
  }
  return {flags.begin(), flags.end()};
}

}  // namespace

Precision precision_ceiling(const Module& module) {
  Arithmetic a;
  each_instruction(module, [&](const Function&, const Instruction&, const Form& form) { a.add(form); });
  if (a.fp8 || a.tensor_fp8) return Precision::fp8;
  const bool half = a.f16 || a.tensor_f16;
  const bool brain = a.bf16 || (a.tensor_bf16 && !a.narrows_to_bf16);
  // No class of the table satisfies both.
  if (half && (brain || a.tensor_bf16)) return Precision::fp8;
  if (half) return Precision::fp16;
  if (brain) return Precision::bf16;
  if (a.tensor_bf16 || a.tensor_tf32 || a.rounds_to_tf32) return Precision::fp32_emulated;
  return a.f32 ? Precision::fp32_strict : Precision::fp64;
}

PtxFacts facts_of(const Module& module) {
  PtxFacts facts;
  each_instruction(module, [&](const Function&, const Instruction&, const Form& form) { ++facts.opcodes[form.text]; });
  facts.ceiling = precision_ceiling(module);
  facts.flags = flags_of(module);
  facts.writes_global_state = !written_variables(module).empty();
  if (facts.writes_global_state) facts.flags.push_back("module state");
  facts.normalized_hash = normalized_hash(module);
  return facts;
}

}  // namespace cupilot::ptx
