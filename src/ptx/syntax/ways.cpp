#include "ptx/syntax/ways.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ptx/syntax/dataflow.hpp"
#include "ptx/syntax/points_to.hpp"
#include "ptx/syntax/roles.hpp"

namespace cupilot::ptx {
namespace {

using Index = std::uint32_t;

// When an instruction stays.
enum class Stay {
  value,   // where somebody needs its result
  load,    // the same; then what writes there stays as well
  update,  // the same, of an atomic
  store,   // where somebody needs what it writes
  always_load,
  always,
};

bool is_strong(const Form& form) {
  return form.has("volatile") || form.has("relaxed") || form.has("acquire") ||
         form.has("release") || form.has("mmio");
}

// True if the instruction hands a carry to another, or takes one.
bool hands_carry(const Form& form) {
  return form.has("cc") || form.opcode == Opcode::op_addc || form.opcode == Opcode::op_subc ||
         form.opcode == Opcode::op_madc;
}

Stay stay_of(const Form& form) {
  switch (form.opcode) {
    case Opcode::op_st:
      return is_strong(form) || form.has("async") ? Stay::always : Stay::store;
    case Opcode::op_red:
      return form.has("release") || form.has("acq_rel") || form.has("async") ? Stay::always
                                                                             : Stay::store;
    case Opcode::op_stmatrix:
      return Stay::store;
    case Opcode::op_atom:
      return Stay::update;
    case Opcode::op_ldmatrix:
      return Stay::load;
    case Opcode::op_ld:
      if (is_strong(form)) return Stay::always_load;
      if (form.space == Space::param || form.space == Space::constant) return Stay::value;
      return form.space == Space::shared || form.space == Space::local ? Stay::load
                                                                       : Stay::always_load;
    default:
      return roles_of(form.opcode) == Roles::result_first && !hands_carry(form) ? Stay::value
                                                                                : Stay::always;
  }
}

// True if the instruction's first operand is its result.
bool has_result(Stay stay) {
  return stay == Stay::value || stay == Stay::load || stay == Stay::update ||
         stay == Stay::always_load;
}

class Ways {
 public:
  Ways(const Module& module, const Function& function)
      : module_(module),
        function_(function),
        needed_(function.registers.size(), 0),
        live_(function.instructions.size(), 0) {}

  // False: what the function loads from global memory decides of its way.
  bool find() {
    makers_.resize(function_.registers.size());
    for (Index i = 0; i < function_.instructions.size(); ++i) {
      const Stay stay = stay_at(i);
      if (has_result(stay)) each_result(i, [&](Index reg) { makers_[reg].push_back(i); });
      if (stay == Stay::always || stay == Stay::always_load) keep(i);
    }
    while (!open_.empty()) {
      const Index reg = open_.back();
      open_.pop_back();
      for (const Index i : makers_[reg]) {
        if (live_[i] == 0) keep(i);
        if (!keep_writers(i)) return false;
      }
    }
    return true;
  }

  bool live(Index i) const { return live_[i] != 0; }
  bool calls() const {
    return std::any_of(
        function_.instructions.begin(), function_.instructions.end(),
        [&](const Instruction& one) { return module_.form(one).opcode == Opcode::op_call; });
  }

 private:
  const Form& form(Index i) const { return module_.form(function_.instructions[i]); }
  Stay stay_at(Index i) const { return stay_of(form(i)); }

  Place place_of(Index i, Index operand) {
    if (!places_) places_.emplace(module_, function_);
    const Instruction& ins = function_.instructions[i];
    return operand < ins.operand_count
               ? places_->of(function_.operands[ins.first_operand + operand])
               : any_place;
  }

  // Keeps what may write the memory that an instruction, whose result is needed, reads. False: it
  // cannot be told.
  bool keep_writers(Index reader) {
    const Stay stay = stay_at(reader);
    if (stay == Stay::value) return true;
    const bool global = stay == Stay::update && form(reader).space == Space::global;
    const Place from = global ? any_place : place_of(reader, 1);
    if (stay == Stay::always_load || (!global && from == any_place)) return false;
    for (Index i = 0; i < function_.instructions.size(); ++i) {
      if (live_[i] != 0) continue;
      if (global ? counts_in_global(i) : writes(i, from)) keep(i);
    }
    return true;
  }

  // Tickets are drawn from single whole numbers.
  bool counts_in_global(Index i) const {
    const Stay stay = stay_at(i);
    const bool writes = stay == Stay::store || stay == Stay::update;
    const Space space = form(i).space;
    return writes && form(i).vector == 1 && (space == Space::global || space == Space::generic) &&
           (form(i).types.empty() || !is_float(form(i).types.back()));
  }

  bool writes(Index i, Place into) {
    const Stay stay = stay_at(i);
    if ((stay != Stay::store && stay != Stay::update) || form(i).space == Space::global)
      return false;
    const Place place = place_of(i, stay == Stay::update ? 1 : 0);
    return place == into || place == any_place;
  }

  template <class Visit>
  void each_result(Index i, Visit visit) const {
    const Instruction& ins = function_.instructions[i];
    if (ins.operand_count > 0)
      each_register(function_, function_.operands[ins.first_operand], visit);
  }

  void need(Index reg) {
    if (std::exchange(needed_[reg], 1) == 0) open_.push_back(reg);
  }

  // Needs all that the instruction reads.
  void keep(Index i) {
    live_[i] = 1;
    const Instruction& ins = function_.instructions[i];
    if (ins.guard != none_index) need(ins.guard);
    for (Index o = has_result(stay_at(i)) ? 1 : 0; o < ins.operand_count; ++o) {
      each_register(function_, function_.operands[ins.first_operand + o],
                    [&](Index reg) { need(reg); });
    }
  }

  const Module& module_;
  const Function& function_;
  std::vector<char> needed_, live_;         // of registers, instructions
  std::vector<std::vector<Index>> makers_;  // of registers
  std::optional<Places> places_;
  std::vector<Index> open_;  // needed, whose makers were not looked at
};

}  // namespace

std::optional<Module> without_values(const Module& module, std::uint32_t entry) {
  const Function& function = module.functions[entry];
  Ways ways(module, function);
  if (ways.calls() || !ways.find()) return std::nullopt;
  Module out = module;
  Form nothing;
  nothing.text = "prefetch";
  nothing.opcode = Opcode::op_prefetch;
  const auto form = static_cast<std::uint32_t>(out.forms.size());
  out.forms.push_back(std::move(nothing));
  std::vector<Instruction>& all = out.functions[entry].instructions;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (ways.live(i)) continue;
    all[i].form = form;
    all[i].guard = none_index;
    all[i].operand_count = 0;
  }
  return out;
}

}  // namespace cupilot::ptx
