// Oddities of instructions: recorded with every kernel, some refused. docs/formats/ptx-gate.md
// lists them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

struct FlagRule {
  std::string_view flag;  // ending in ".*": any type
  bool refused = false;   // else it is recorded, and the checks that follow must cope with it
  std::string_view why;
};

std::span<const FlagRule> flag_rules();
// Every flag has a rule.
const FlagRule& rule_of(std::string_view flag);

std::vector<std::string> flags_of(const Form& form);
std::string_view flag_of(Special special);  // "": none

// The halves of the address where the driver keeps the barrier of a cooperative grid:
// cooperative_groups' grid sync.
inline bool of_grid_barrier(const Operand& operand) {
  const auto special = static_cast<Special>(operand.index);
  return operand.kind == OperandKind::special &&
         (special == Special::envreg1 || special == Special::envreg2);
}

}  // namespace cupilot::ptx
