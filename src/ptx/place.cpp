#include "ptx/place.hpp"

#include "ptx/spread.hpp"

namespace cupilot::ptx {
namespace {

// Arrays of dynamic shared memory all begin at one address.
constexpr Place unseen = 1, dynamic_shared = 2, first_variable = 3;

Place join(Place a, Place b) {
  if (a == b || b == unseen) return a;
  return a == unseen ? b : any_place;
}

}  // namespace

Places::Places(const Module& module, const Function& function)
    : module_(module), function_(function), of_register_(function.registers.size(), unseen) {
  Spread(function).run([&](std::uint32_t i, auto changed) {
    const Instruction& instruction = function_.instructions[i];
    if (instruction.operand_count < 2 || module_.form(instruction).opcode == Opcode::op_ld) return;
    const Operand& result = function_.operands[instruction.first_operand];
    if (result.kind == OperandKind::address) return;  // there is none
    const Place place = joined(instruction);
    each_register(function_, result, [&](std::uint32_t reg) {
      const Place both = join(of_register_[reg], place);
      if (both == of_register_[reg]) return;
      of_register_[reg] = both;
      changed(reg);
    });
  });
}

Place Places::base_of(OperandKind kind, std::uint32_t index) const {
  if (kind == OperandKind::reg) return of_register_[index];
  if (kind == OperandKind::variable) {
    return module_.variables[index].is_extern ? dynamic_shared : first_variable + index;
  }
  if (kind == OperandKind::formal) return first_variable + static_cast<Place>(module_.variables.size()) + index;
  return unseen;
}

// What the result of an instruction points into.
Place Places::joined(const Instruction& instruction) const {
  Place place = unseen;
  for (std::uint32_t i = 1; i < instruction.operand_count; ++i) {
    const Operand& operand = function_.operands[instruction.first_operand + i];
    const bool named = operand.kind == OperandKind::variable || operand.kind == OperandKind::formal;
    if (named) place = join(place, base_of(operand.kind, operand.index));
    each_register(function_, operand, [&](std::uint32_t reg) { place = join(place, of_register_[reg]); });
  }
  return place;
}

Place Places::of(const Operand& address) const {
  const Place place = address.kind == OperandKind::address ? base_of(address.base, address.index) : unseen;
  return place == unseen ? any_place : place;
}

}  // namespace cupilot::ptx
