// The gate's look at single instructions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <cupilot/parts/rejection.hpp>

#include "ptx/gate/gate.hpp"
#include "ptx/syntax/flags.hpp"

namespace cupilot::ptx {
namespace {

using Refusal = std::optional<Rejected>;

bool is_video(Opcode opcode) {
  switch (opcode) {
    case Opcode::op_vadd:
    case Opcode::op_vadd2:
    case Opcode::op_vadd4:
    case Opcode::op_vabsdiff:
    case Opcode::op_vabsdiff2:
    case Opcode::op_vabsdiff4:
    case Opcode::op_vavrg2:
    case Opcode::op_vavrg4:
    case Opcode::op_vmad:
    case Opcode::op_vmax:
    case Opcode::op_vmax2:
    case Opcode::op_vmax4:
    case Opcode::op_vmin:
    case Opcode::op_vmin2:
    case Opcode::op_vmin4:
    case Opcode::op_vset:
    case Opcode::op_vset2:
    case Opcode::op_vset4:
    case Opcode::op_vshl:
    case Opcode::op_vshr:
    case Opcode::op_vsub:
    case Opcode::op_vsub2:
    case Opcode::op_vsub4:
      return true;
    default:
      return false;
  }
}

// Returns the reason to refuse a form always; "" when it may stand.
std::string forbidden(const Form& form, Whose whose, bool textures) {
  if (is_video(form.opcode))
    return "video instructions are emulated by these chips, written by no compiler and only "
           "partly known to the virtual device";
  switch (form.opcode) {
    case Opcode::unknown:
      return "an instruction of no known kind";
    case Opcode::op_trap:
      if (whose == Whose::own) break;
      [[fallthrough]];
    case Opcode::op_brkpt:
    case Opcode::op_pmevent:
      return "stops or signals the device";
    case Opcode::op_tex:
    case Opcode::op_tld4:
    case Opcode::op_txq:
    case Opcode::op_istypep:
    case Opcode::op_suld:
    case Opcode::op_sust:
    case Opcode::op_sured:
    case Opcode::op_suq:
      if (textures) break;
      return "no launch of the plan binds a texture or a surface";
    case Opcode::op_multimem:
    case Opcode::op_fabric:
      return "reaches other devices";
    case Opcode::op_atom:
    case Opcode::op_red:
      if (form.has("sys")) return "a system-wide atomic reaches beyond the device";
      break;
    default:
      break;
  }
  for (const std::string& flag : flags_of(form)) {
    if (rule_of(flag).refused) return std::string(rule_of(flag).why);
  }
  return {};
}

// Names the target of an operand that no plan can offer; "" when it may stand.
std::string_view forbidden(const Function& function, const Form& form, const Operand& operand,
                           Whose whose) {
  const std::uint32_t first =
      operand.kind == OperandKind::vector ? operand.index : operand.coordinates;
  for (std::uint32_t i = 0; i < operand.count; ++i) {
    if (const auto why = forbidden(function, form, function.operands[first + i], whose);
        !why.empty())
      return why;
  }
  if (operand.kind == OperandKind::special) {
    const auto special = static_cast<Special>(operand.index);
    const bool clock = special >= Special::clock && special <= Special::globaltimer_hi;
    if (clock && whose == Whose::own) return "";
    const std::string_view flag = flag_of(special);
    return !flag.empty() && rule_of(flag).refused ? rule_of(flag).why : "";
  }
  const bool global = form.space == Space::global || form.space == Space::generic;
  if (operand.kind == OperandKind::address && operand.base == OperandKind::immediate && global) {
    return "an absolute address belongs to no buffer of the plan";
  }
  return "";
}

bool is_direct(const Function& function, const Instruction& call) {
  const Operand* operands = &function.operands[call.first_operand];
  return call.operand_count == 3 && operands[1].kind == OperandKind::function;
}

}  // namespace

Refusal check_instructions(const Module& module, bool cooperative, Whose whose, bool textures) {
  const bool meets =
      cooperative &&
      std::any_of(module.functions.begin(), module.functions.end(), [](const Function& f) {
        return std::any_of(f.operands.begin(), f.operands.end(), of_grid_barrier);
      });
  std::vector<std::string> why;
  why.reserve(module.forms.size());
  for (const Form& form : module.forms) why.push_back(forbidden(form, whose, textures));
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.instructions) {
      const auto refuse = [&](std::string_view reason) {
        return reject("gate.forbidden",
                      fmt::format("{}: {}", module.form(instruction).text, reason),
                      fmt::format("ptx line {}", instruction.line));
      };
      const Form& form = module.form(instruction);
      if (form.opcode == Opcode::op_trap && meets) continue;
      if (!why[instruction.form].empty()) return refuse(why[instruction.form]);
      if (form.opcode == Opcode::op_call && !is_direct(function, instruction))
        return refuse("an indirect call");
      for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
        const Operand& operand = function.operands[instruction.first_operand + i];
        if (of_grid_barrier(operand) && !cooperative)
          return refuse(
              "only a cooperative launch has a barrier of the grid: say cooperative in the plan");
        if (const auto reason = forbidden(function, form, operand, whose); !reason.empty())
          return refuse(reason);
      }
    }
  }
  return std::nullopt;
}

}  // namespace cupilot::ptx
