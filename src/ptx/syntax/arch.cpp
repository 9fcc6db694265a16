#include "ptx/syntax/arch.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include <cupilot/parts/rejection.hpp>

namespace cupilot::ptx {
namespace {

// "sm_90a": 90, and bound to that one architecture.
struct Arch {
  int number = 0;
  bool exact = false;
};

Arch arch_named(std::string_view name) {
  Arch arch;
  if (name.rfind("sm_", 0) != 0) return arch;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + 3, end, arch.number);
  arch.exact = read.ptr != end;
  return arch;
}

// The architecture that an opcode needs, or only its forms with one of these modifiers.
struct Need {
  Opcode opcode;
  std::string_view modifier;  // "": any form
  Arch arch;
};
constexpr Arch hopper{90, false}, hopper_only{90, true};
constexpr Need needs[] = {
    {Opcode::op_wgmma, "", hopper_only},
    {Opcode::op_setmaxnreg, "", hopper_only},
    {Opcode::op_elect, "", hopper},
    {Opcode::op_mapa, "", hopper},
    {Opcode::op_getctarank, "", hopper},
    {Opcode::op_stmatrix, "", hopper},
    {Opcode::op_griddepcontrol, "", hopper},
    {Opcode::op_multimem, "", hopper},
    {Opcode::op_tensormap, "", hopper},
    {Opcode::op_cp, "bulk", hopper},
    {Opcode::op_mbarrier, "expect_tx", hopper},
    {Opcode::op_mbarrier, "try_wait", hopper},
    {Opcode::op_mbarrier, "complete_tx", hopper},
    {Opcode::op_st, "async", hopper},
    {Opcode::op_red, "async", hopper},
    {Opcode::op_fence, "async", hopper},
    {Opcode::op_fence, "mbarrier_init", hopper},
    {Opcode::op_atom, "b128", hopper},
    {Opcode::op_fma, "oob", hopper},
    {Opcode::op_add, "bf16", hopper},
    {Opcode::op_add, "bf16x2", hopper},
    {Opcode::op_sub, "bf16", hopper},
    {Opcode::op_sub, "bf16x2", hopper},
    {Opcode::op_mul, "bf16", hopper},
    {Opcode::op_mul, "bf16x2", hopper},
};

Arch need_of(const Form& form) {
  for (const Need& need : needs) {
    if (need.opcode == form.opcode && (need.modifier.empty() || form.has(need.modifier)))
      return need.arch;
  }
  if (form.has("cluster") || form.has("shared::cluster")) return hopper;
  const auto is_fp8 = [](Type type) { return type == Type::e4m3 || type == Type::e5m2; };
  const bool narrow = std::any_of(form.types.begin(), form.types.end(), is_fp8) ||
                      form.has("e4m3x2") || form.has("e5m2x2");
  return narrow ? Arch{89, false} : Arch{};
}

bool has(const Arch& arch, const Arch& need) {
  return arch.number >= need.number && (!need.exact || arch.exact);
}

std::string name_of(const Arch& arch) {
  return fmt::format("sm_{}{}", arch.number, arch.exact ? "a" : "");
}

}  // namespace

std::optional<Rejected> check_arch(const Module& module, std::string_view arch) {
  const Arch target = arch_named(module.target), device = arch_named(arch);
  if (target.exact ? module.target != arch : target.number > device.number) {
    return reject("load.failed", fmt::format("PTX for {} does not run on {}", module.target, arch));
  }
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.instructions) {
      const Form& form = module.form(instruction);
      const Arch need = need_of(form);
      if (has(target, need)) continue;
      return reject(
          "load.failed",
          fmt::format("{} needs {}, the PTX is for {}", form.text, name_of(need), module.target),
          fmt::format("ptx line {} ({})", instruction.line, form.text));
    }
  }
  return std::nullopt;
}

}  // namespace cupilot::ptx
