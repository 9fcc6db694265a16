// The numeric class of a module, read off its instructions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "ptx/gate/facts.hpp"
#include "ptx/syntax/dataflow.hpp"
#include "ptx/syntax/points_to.hpp"

namespace cupilot::ptx {
namespace {

bool is_arithmetic(const Form& form) {
  switch (form.opcode) {
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
    case Opcode::op_cp:
      return form.has("reduce");
    default:
      return false;
  }
}

bool is_tensor_core(Opcode opcode) {
  return opcode == Opcode::op_mma || opcode == Opcode::op_wmma || opcode == Opcode::op_wgmma;
}

bool is_narrow(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return true;
    default:
      return false;
  }
}

bool has_type(const Form& form, std::initializer_list<Type> types) {
  return std::any_of(form.types.begin(), form.types.end(), [&](Type type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  });
}

// The types that the instructions of a module compute in.
struct Arithmetic {
  bool f64 = false, f32 = false, f16 = false, bf16 = false, fp8 = false;
  bool tensor_tf32 = false, tensor_f16 = false, tensor_bf16 = false, tensor_fp8 = false,
       tensor_integer = false;
  bool rounds_to_tf32 = false, narrows_to_bf16 = false;

  void add(const Form& form) {
    if (is_tensor_core(form.opcode)) return add_tensor(form);
    if (form.opcode == Opcode::op_cvt) {
      rounds_to_tf32 |= has_type(form, {Type::tf32});
      narrows_to_bf16 |=
          !form.types.empty() && (form.types[0] == Type::bf16 || form.types[0] == Type::bf16x2);
      return;
    }
    // Integer dot products in a kernel for floats are of quantised operands.
    tensor_integer |= form.opcode == Opcode::op_dp4a || form.opcode == Opcode::op_dp2a;
    if (!is_arithmetic(form)) return;
    f64 |= has_type(form, {Type::f64});
    f32 |= has_type(form, {Type::f32, Type::f32x2});
    f16 |= has_type(form, {Type::f16, Type::f16x2});
    bf16 |= has_type(form, {Type::bf16, Type::bf16x2});
    fp8 |= has_type(form, {Type::e4m3, Type::e5m2, Type::e4m3x2, Type::e5m2x2});
  }

  void add_tensor(const Form& form) {
    tensor_tf32 |= has_type(form, {Type::tf32});
    tensor_bf16 |= has_type(form, {Type::bf16});
    tensor_fp8 |= has_type(form, {Type::e4m3, Type::e5m2});
    tensor_f16 |= has_type(form, {Type::f16});  // as operand or as accumulator
    tensor_integer |= has_type(form, {Type::s8, Type::u8, Type::s4, Type::u4, Type::b1});
    f64 |= has_type(form, {Type::f64});
  }
};

// True if each narrow type of 16 bits holds the number: seven fraction bits and a small exponent,
// or an infinity.
bool keeps_all(const Operand& immediate) {
  const double value =
      immediate.type == Type::f64 ? std::bit_cast<double>(immediate.bits)
      : immediate.type == Type::f32
          ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(immediate.bits)))
          : static_cast<double>(static_cast<std::int64_t>(immediate.bits));
  if (value == 0 || std::isinf(value)) return true;
  int exponent = 0;
  const double scaled = 256 * std::frexp(value, &exponent);
  return std::abs(exponent) <= 12 && scaled == std::trunc(scaled);
}

// Registers that hold nothing but such a number.
std::vector<char> exact_constants(const Module& module, const Function& function) {
  std::vector<char> moved(function.registers.size(), 0), other(function.registers.size(), 0);
  for (const Instruction& instruction : function.instructions) {
    const Form& form = module.form(instruction);
    const auto operand = [&](std::uint32_t i) -> const Operand& {
      return function.operands[instruction.first_operand + i];
    };
    const bool constant = form.opcode == Opcode::op_mov && instruction.operand_count == 2 &&
                          operand(1).kind == OperandKind::immediate && keeps_all(operand(1));
    const std::uint32_t written = form.opcode == Opcode::op_call ? instruction.operand_count : 1;
    for (std::uint32_t i = 0; i < std::min(written, instruction.operand_count); ++i) {
      each_register(function, operand(i),
                    [&](std::uint32_t reg) { (constant ? moved : other)[reg] = 1; });
    }
  }
  for (std::size_t reg = 0; reg < moved.size(); ++reg) moved[reg] = moved[reg] && !other[reg];
  return moved;
}

// Finds values that a conversion made narrow and another wide again: they went through the narrow
// type for its rounding. The way through registers is followed, and through a variable in shared or
// local memory taken for granted.
class RoundTrip {
 public:
  RoundTrip(const Module& module, const Function& function)
      : module_(module),
        function_(function),
        places_(module, function),
        narrow_(function.registers.size(), 0),
        stored_(places_.count(), 0),
        exact_(exact_constants(module, function)) {}

  bool found() {
    do {
      stored_before_ = stored_;
      Dataflow(function_).run(
          [&](std::uint32_t i, auto changed) { step(function_.instructions[i], changed); });
    } while (!found_ && stored_ != stored_before_);
    return found_;
  }

 private:
  // True for a conversion of a constant that a narrow type holds, such as the zero of a padding.
  bool is_exact(const Instruction& instruction) const {
    if (instruction.operand_count != 2) return false;
    const Operand& from = function_.operands[instruction.first_operand + 1];
    return from.kind == OperandKind::immediate
               ? keeps_all(from)
               : from.kind == OperandKind::reg && exact_[from.index] != 0;
  }

  static bool on_chip(Space space) { return space == Space::shared || space == Space::local; }

  bool is_source_narrow(const Instruction& instruction, std::uint32_t from) const {
    bool narrow = false;
    for (std::uint32_t i = from; i < instruction.operand_count; ++i) {
      const Operand& operand = function_.operands[instruction.first_operand + i];
      if (operand.kind == OperandKind::address) continue;
      each_register(function_, operand, [&](std::uint32_t reg) { narrow |= narrow_[reg] != 0; });
    }
    return narrow;
  }

  Place place_of(const Instruction& instruction, std::uint32_t operand) const {
    return places_.of(function_.operands[instruction.first_operand + operand]);
  }

  bool holds_narrow(Place place) const {
    if (place != any_place) return stored_before_[place] != 0 || stored_before_[any_place] != 0;
    return std::find(stored_before_.begin(), stored_before_.end(), 1) != stored_before_.end();
  }

  template <class Changed>
  void step(const Instruction& instruction, Changed changed) {
    const Form& form = module_.form(instruction);
    if (found_ || instruction.operand_count < 2) return;
    if (form.opcode == Opcode::op_st) {
      if (on_chip(form.space) && is_source_narrow(instruction, 1))
        stored_[place_of(instruction, 0)] = 1;
      return;
    }
    // bf16 is made wide by moving its bits, so the next thing seen is arithmetic on fp32.
    found_ |= is_arithmetic(form) && has_type(form, {Type::f32, Type::f32x2, Type::f64}) &&
              is_source_narrow(instruction, 1);
    bool narrow = false;
    if (form.opcode == Opcode::op_cvt && form.types.size() >= 2) {
      const bool into = is_narrow(form.types[0]), from = is_narrow(form.types[1]);
      found_ |= from && !into && is_float(form.types[0]) && is_source_narrow(instruction, 1);
      narrow = into && (from ? is_source_narrow(instruction, 1) : !is_exact(instruction));
    } else if (form.opcode == Opcode::op_ld) {
      narrow = on_chip(form.space) && holds_narrow(place_of(instruction, 1));
    } else if (moves_bits(form.opcode)) {
      narrow = is_source_narrow(instruction, 1);
    }
    if (!narrow) return;
    each_register(function_, function_.operands[instruction.first_operand], [&](std::uint32_t reg) {
      if (narrow_[reg] != 0) return;
      narrow_[reg] = 1;
      changed(reg);
    });
  }

  static bool moves_bits(Opcode opcode) {
    switch (opcode) {
      case Opcode::op_mov:
      case Opcode::op_shl:
      case Opcode::op_shr:
      case Opcode::op_and:
      case Opcode::op_or:
      case Opcode::op_xor:
      case Opcode::op_lop3:
      case Opcode::op_prmt:
      case Opcode::op_bfe:
      case Opcode::op_bfi:
      case Opcode::op_selp:
      case Opcode::op_shfl:
      case Opcode::op_neg:
      case Opcode::op_abs:
      case Opcode::op_cvt:
        return true;
      default:
        return false;
    }
  }

  const Module& module_;
  const Function& function_;
  const Places places_;
  std::vector<char> narrow_;                  // registers
  std::vector<char> stored_, stored_before_;  // places that a narrow value was stored in
  const std::vector<char> exact_;             // registers
  bool found_ = false;
};

// Nothing becomes narrow but by a conversion from something wide.
bool narrows(const Form& form) {
  return form.opcode == Opcode::op_cvt && form.types.size() >= 2 && is_narrow(form.types[0]) &&
         !is_narrow(form.types[1]);
}

bool rounds_through_narrow(const Module& module) {
  if (std::none_of(module.forms.begin(), module.forms.end(), narrows)) return false;
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [&](const Function& function) { return RoundTrip(module, function).found(); });
}

}  // namespace

Precision precision_ceiling(const Module& module) {
  Arithmetic a;
  for (const Form& form : module.forms) a.add(form);  // each is of some instruction
  if (a.fp8) return Precision::fp8;
  // Perhaps added up in fp32 often enough: the bound tells.
  if (a.tensor_fp8) return Precision::fp8_promoted;
  const bool half = a.f16 || a.tensor_f16;
  const bool brain = a.bf16 || (a.tensor_bf16 && !a.narrows_to_bf16);
  // No class of the table satisfies both.
  if (half && (brain || a.tensor_bf16)) return Precision::fp8;
  if (half) return Precision::fp16;
  if (brain) return Precision::bf16;
  // Terms of an emulation, perhaps: the probes tell how good it is.
  const bool terms = a.tensor_bf16 || a.tensor_tf32 || a.tensor_integer || a.rounds_to_tf32;
  if (terms || rounds_through_narrow(module)) return Precision::fp32_emulated;
  return a.f32 ? Precision::fp32_strict : Precision::fp64;
}

}  // namespace cupilot::ptx
