#include "ptx/syntax/lifetime.hpp"

#include <algorithm>

#include "ptx/syntax/dataflow.hpp"
#include "ptx/syntax/roles.hpp"

namespace cupilot::ptx {
namespace {

using Index = std::uint32_t;
using Bits = std::vector<std::uint64_t>;

bool ends_block(Opcode opcode) {
  return opcode == Opcode::op_bra || opcode == Opcode::op_brx || opcode == Opcode::op_ret ||
         opcode == Opcode::op_exit || opcode == Opcode::op_trap;
}

class Lives {
 public:
  Lives(const Module& module, const Function& function)
      : module_(module),
        function_(function),
        out_(function.registers.size()),
        crossing_(function.registers.size(), none_index),
        written_in_(function.registers.size(), none_index) {}

  std::vector<Lifetime> find() {
    if (function_.instructions.empty()) return std::move(out_);
    find_blocks();
    const std::vector<std::vector<Index>> after = edges();
    for (Index b = 0; b < blocks(); ++b) name_all(b);
    spread(after);
    for (Index b = 0; b < blocks(); ++b) extend(b);
    return std::move(out_);
  }

 private:
  Index blocks() const { return static_cast<Index>(first_.size() - 1); }
  Opcode opcode(Index i) const { return module_.form(function_.instructions[i]).opcode; }

  template <class Visit>
  void each_target(Index i, Visit visit) const {
    const Instruction& ins = function_.instructions[i];
    for (Index o = ins.first_operand; o < ins.first_operand + ins.operand_count; ++o) {
      const Operand& operand = function_.operands[o];
      if (operand.kind == OperandKind::label) visit(operand.index);
      if (operand.kind != OperandKind::table) continue;
      for (const Index t : function_.tables[operand.index].targets) visit(t);
    }
  }

  void find_blocks() {
    const auto size = static_cast<Index>(function_.instructions.size());
    std::vector<char> leads(size + 1, 0);
    leads[0] = leads[size] = 1;
    for (Index i = 0; i < size; ++i) {
      if (!ends_block(opcode(i))) continue;
      leads[i + 1] = 1;
      each_target(i, [&](Index t) { leads[std::min(t, size)] = 1; });
    }
    for (Index i = 0; i <= size; ++i) {
      if (leads[i] != 0) first_.push_back(i);
    }
    begins_.resize(blocks());
    writes_.resize(blocks());
  }

  // The blocks that may run after each.
  std::vector<std::vector<Index>> edges() const {
    std::vector<std::vector<Index>> after(blocks());
    for (Index b = 0; b < blocks(); ++b) {
      const Index last = first_[b + 1] - 1;
      const Opcode end = opcode(last);
      const bool guarded = function_.instructions[last].guard != none_index;
      if ((!ends_block(end) || guarded) && b + 1 < blocks()) after[b].push_back(b + 1);
      if (end != Opcode::op_bra && end != Opcode::op_brx) continue;
      each_target(last, [&](Index t) {
        if (t >= first_.back()) return;
        after[b].push_back(static_cast<Index>(std::upper_bound(first_.begin(), first_.end(), t) -
                                              first_.begin() - 1));
      });
    }
    return after;
  }

  // The number of a register among those that some block reads without having written them.
  Index crossing(Index reg) {
    if (crossing_[reg] == none_index) {
      crossing_[reg] = static_cast<Index>(registers_.size());
      registers_.push_back(reg);
    }
    return crossing_[reg];
  }

  void name(Index reg, Index i) {
    out_[reg].first = std::min(out_[reg].first, i);
    out_[reg].last = std::max(out_[reg].last, i);
  }

  void read(Index reg, Index i, Index b) {
    name(reg, i);
    if (written_in_[reg] != b) begins_[b].push_back(crossing(reg));
  }

  // Takes one block's instructions: what it reads of others, and what it writes as a whole.
  void name_all(Index b) {
    for (Index i = first_[b]; i < first_[b + 1]; ++i) {
      const Instruction& ins = function_.instructions[i];
      const Roles roles = roles_of(opcode(i));
      if (ins.guard != none_index) read(ins.guard, i, b);
      for (Index o = 0; o < ins.operand_count; ++o) {
        if (roles == Roles::result_first && o == 0) continue;
        each_named(ins, o, [&](Index reg) {
          read(reg, i, b);
          out_[reg].alone |= roles == Roles::unknown;
        });
      }
      if (roles != Roles::result_first || ins.operand_count == 0) continue;
      each_named(ins, 0, [&](Index reg) {
        name(reg, i);
        if (ins.guard != none_index) return;
        written_in_[reg] = b;
        writes_[b].push_back(reg);
      });
    }
  }

  template <class Visit>
  void each_named(const Instruction& ins, Index operand, Visit visit) const {
    each_register(function_, function_.operands[ins.first_operand + operand], visit);
  }

  // Finds the registers that live where each block begins and ends, from behind until nothing
  // changes.
  void spread(const std::vector<std::vector<Index>>& after) {
    const std::size_t words = (registers_.size() + 63) / 64;
    std::vector<Bits> keeps(blocks(), Bits(words, ~0ull));
    live_in_.assign(blocks(), Bits(words, 0));
    live_out_.assign(blocks(), Bits(words, 0));
    for (Index b = 0; b < blocks(); ++b) {
      for (const Index one : begins_[b]) live_in_[b][one / 64] |= 1ull << one % 64;
      for (const Index reg : writes_[b]) {
        const Index one = crossing_[reg];
        if (one != none_index) keeps[b][one / 64] &= ~(1ull << one % 64);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Index b = blocks(); b-- > 0;) {
        for (std::size_t w = 0; w < words; ++w) {
          std::uint64_t out = 0;
          for (const Index next : after[b]) out |= live_in_[next][w];
          live_out_[b][w] = out;
          const std::uint64_t in = live_in_[b][w] | (out & keeps[b][w]);
          changed |= in != live_in_[b][w];
          live_in_[b][w] = in;
        }
      }
    }
  }

  void extend(Index b) {
    for (std::size_t one = 0; one < registers_.size(); ++one) {
      const std::uint64_t bit = 1ull << one % 64;
      const bool in = (live_in_[b][one / 64] & bit) != 0;
      if (in) name(registers_[one], first_[b]);
      if ((live_out_[b][one / 64] & bit) != 0) name(registers_[one], first_[b + 1] - 1);
      out_[registers_[one]].alone |= in && b == 0;
    }
  }

  const Module& module_;
  const Function& function_;
  std::vector<Lifetime> out_;
  std::vector<Index> first_;                 // instruction of each block; one more at the end
  std::vector<Index> crossing_, registers_;  // register -> number, and back
  std::vector<Index> written_in_;            // the block in work that wrote a register
  std::vector<std::vector<Index>> begins_, writes_;  // of blocks: what they read of others, write
  std::vector<Bits> live_in_, live_out_;
};

}  // namespace

std::vector<Lifetime> lifetimes(const Module& module, const Function& function) {
  return Lives(module, function).find();
}

}  // namespace cupilot::ptx
