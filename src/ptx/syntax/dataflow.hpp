// Spreads what is known of registers along a function's instructions until nothing changes, without
// regard to their order.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// Every register an operand names: itself, the parts of a vector, the base and the coordinates of
// an address.
template <class Visit>
void each_register(const Function& function, const Operand& operand, Visit visit) {
  if (operand.kind == OperandKind::reg) return visit(operand.index);
  if (operand.kind == OperandKind::address && operand.base == OperandKind::reg)
    visit(operand.index);
  const bool vector = operand.kind == OperandKind::vector;
  if (!vector && operand.kind != OperandKind::address) return;
  const std::uint32_t first = vector ? operand.index : operand.coordinates;
  for (std::uint32_t i = 0; i < operand.count; ++i)
    each_register(function, function.operands[first + i], visit);
}

class Dataflow {
 public:
  explicit Dataflow(const Function& function)
      : function_(function), first_(function.registers.size() + 1, 0) {
    each_use([&](std::uint32_t, std::uint32_t reg) { ++first_[reg + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    users_.resize(first_.back());
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    each_use(
        [&](std::uint32_t instruction, std::uint32_t reg) { users_[at[reg]++] = instruction; });
  }

  // Calls step(instruction index, changed) for every instruction, and again for the users of each
  // register that a step passes to changed(). Ends when a register can change only so often; the
  // order is fixed.
  template <class Step>
  void run(Step step) {
    const auto count = static_cast<std::uint32_t>(function_.instructions.size());
    std::vector<std::uint32_t> queue(count);
    std::vector<char> waiting(count, 1);
    for (std::uint32_t i = 0; i < count; ++i) queue[i] = count - 1 - i;
    const auto changed = [&](std::uint32_t reg) {
      for (std::uint32_t u = first_[reg]; u < first_[reg + 1]; ++u) {
        if (waiting[users_[u]] != 0) continue;
        waiting[users_[u]] = 1;
        queue.push_back(users_[u]);
      }
    };
    while (!queue.empty()) {
      const std::uint32_t next = queue.back();
      queue.pop_back();
      waiting[next] = 0;
      step(next, changed);
    }
  }

 private:
  template <class Visit>
  void each_use(Visit visit) const {
    for (std::uint32_t i = 0; i < function_.instructions.size(); ++i) {
      const Instruction& instruction = function_.instructions[i];
      if (instruction.guard != none_index) visit(i, instruction.guard);
      for (std::uint32_t o = 0; o < instruction.operand_count; ++o) {
        each_register(function_, function_.operands[instruction.first_operand + o],
                      [&](std::uint32_t reg) { visit(i, reg); });
      }
    }
  }

  const Function& function_;
  std::vector<std::uint32_t> first_,
      users_;  // users_[first_[r] .. first_[r + 1]): instructions that name register r
};

}  // namespace cupilot::ptx
