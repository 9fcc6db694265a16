#include "ptx/syntax/points_to.hpp"

#include "ptx/syntax/dataflow.hpp"

namespace cupilot::ptx {
namespace {

// Not computed yet; a number that stands on no variable; arrays of dynamic shared memory, which all
// begin at one address.
constexpr Place unseen = 1, number = 2, dynamic_shared = 3;

// Joins the places of one value or another.
Place either(Place a, Place b) {
  if (a == b || b == unseen) return a;
  return a == unseen ? b : any_place;
}

// Joins the places of a sum: a number is an index into what it is added to.
Place sum(Place a, Place b) {
  if (a == unseen || b == unseen) return unseen;
  if (a == number || b == number) return a == number ? b : a;
  return any_place;
}

// True if the operand of an opcode may point somewhere and the result points there, further on. The
// first is 1.
bool carries(Opcode opcode, std::uint32_t operand) {
  switch (opcode) {
    case Opcode::op_add:
    case Opcode::op_or:
      return true;
    case Opcode::op_sub:
      return operand == 1;
    case Opcode::op_mad:
      return operand == 3;
    default:
      return false;
  }
}

}  // namespace

Places::Places(const Module& module, const Function& function)
    : module_(module), function_(function), of_register_(function.registers.size(), unseen) {
  Dataflow(function).run([&](std::uint32_t i, auto changed) {
    const Instruction& instruction = function_.instructions[i];
    if (instruction.operand_count == 0) return;
    const Operand& result = function_.operands[instruction.first_operand];
    if (result.kind == OperandKind::address) return;  // there is none
    const Place place = result_of(instruction);
    each_register(function_, result, [&](std::uint32_t reg) {
      const Place both = either(of_register_[reg], place);
      if (both == of_register_[reg]) return;
      of_register_[reg] = both;
      changed(reg);
    });
  });
}

Place Places::of_operand(OperandKind kind, std::uint32_t index) const {
  if (kind == OperandKind::reg) return of_register_[index];
  if (kind == OperandKind::variable)
    return module_.variables[index].is_extern ? dynamic_shared : first_variable + index;
  if (kind == OperandKind::formal)
    return first_variable + static_cast<Place>(module_.variables.size()) + index;
  return number;
}

Place Places::result_of(const Instruction& instruction) const {
  const Opcode opcode = module_.form(instruction).opcode;
  if (opcode == Opcode::op_ld || instruction.operand_count == 1) return number;
  const bool sums = carries(opcode, 1) || carries(opcode, 3);
  Place place = sums ? number : unseen;
  const auto take = [&](const Operand& operand, std::uint32_t i) {
    const Place one = of_operand(operand.kind, operand.index);
    if (!sums) {
      place = either(place, one);
    } else {
      place = sum(place, one == unseen || one == number || carries(opcode, i) ? one : any_place);
    }
  };
  for (std::uint32_t i = 1; i < instruction.operand_count; ++i) {
    const Operand& operand = function_.operands[instruction.first_operand + i];
    if (operand.kind != OperandKind::vector) take(operand, i);
    for (std::uint32_t part = 0; operand.kind == OperandKind::vector && part < operand.count;
         ++part)
      take(function_.operands[operand.index + part], i);
  }
  return place;
}

Place Places::of(const Operand& address) const {
  const Place place =
      address.kind == OperandKind::address ? of_operand(address.base, address.index) : number;
  return place < first_variable && place != dynamic_shared ? any_place : place;
}

}  // namespace cupilot::ptx
