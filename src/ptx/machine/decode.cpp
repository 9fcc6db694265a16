#include "ptx/machine/decode.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <cupilot/parts/rejection.hpp>

#include "ptx/machine/shared_layout.hpp"
#include "ptx/syntax/flow.hpp"
#include "ptx/syntax/lifetime.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::uint32_t max_frame = 8u << 20;
constexpr std::uint64_t max_lane_bytes = 128u << 10;

std::uint32_t register_bytes(Type type) {
  return type == Type::pred ? 0 : std::max(2u, bytes_of(type));
}

std::uint32_t special_bytes(Special s) {
  return s == Special::clock64 || s == Special::globaltimer || s == Special::current_graph_exec ? 8
                                                                                                : 4;
}

// Bits of a literal as an operand of `bytes`.
std::uint64_t literal(const Operand& o, std::uint32_t bytes, bool as_float) {
  if (o.type == Type::f64 && bytes == 4)
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(o.bits)));
  if (o.type == Type::f32 && bytes == 8) {
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(o.bits))));
  }
  if (as_float && (o.type == Type::s64 || o.type == Type::u64)) {
    const double value = static_cast<double>(static_cast<std::int64_t>(o.bits));
    if (bytes == 8) return std::bit_cast<std::uint64_t>(value);
    if (bytes == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  return o.bits;
}

// Gives registers their places; those that hold nothing at the same time share one, so that what a
// warp touches stays in the host's caches. take(bytes) makes a new one.
template <class Take>
void place_registers(const Function& function, const std::vector<Lifetime>& lives,
                     std::vector<std::uint32_t>& places, Take take) {
  // The registers that begin at each instruction and those that end there, as lists.
  const std::size_t count = lives.size();
  std::vector<std::uint32_t> begin(function.instructions.size(), none_index), end = begin;
  std::vector<std::uint32_t> beside(count), behind(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Type type = function.registers[i].type;
    if (type == Type::pred || lives[i].first == none_index) continue;
    if (lives[i].alone) {
      places[i] = take(register_bytes(type));
      continue;
    }
    beside[i] = std::exchange(begin[lives[i].first], i);
    behind[i] = std::exchange(end[lives[i].last], i);
  }
  // By width; the last of them is the likeliest to be in a cache.
  std::array<std::vector<std::uint32_t>, 17> free;
  for (std::size_t at = 0; at < begin.size(); ++at) {
    for (std::uint32_t i = begin[at]; i != none_index; i = beside[i]) {
      const std::uint32_t bytes = register_bytes(function.registers[i].type);
      std::vector<std::uint32_t>& left = free.at(bytes);
      if (left.empty()) left.push_back(take(bytes));
      places[i] = left.back();
      left.pop_back();
    }
    for (std::uint32_t i = end[at]; i != none_index; i = behind[i])
      free.at(register_bytes(function.registers[i].type)).push_back(places[i]);
  }
}

}  // namespace

Decoder::Decoder(Program& owner, Code& out, std::uint32_t function_index)
    : program(owner),
      code(out),
      module(*owner.module),
      function(owner.module->functions[function_index]) {
  code.function = function_index;
}

const Operand& Decoder::operand(std::size_t i) const {
  if (i >= instruction_->operand_count) refuse("an operand is missing");
  return function.operands[instruction_->first_operand + i];
}

std::vector<Operand> Decoder::parts(const Operand& o) const {
  if (o.kind != OperandKind::vector) return {o};
  return {function.operands.begin() + o.index, function.operands.begin() + o.index + o.count};
}

void Decoder::refuse(const std::string& why) const {
  throw Unsupported{instruction_->line, fmt::format("{}: {}", form().text, why)};
}

void Decoder::want_operands(std::size_t least, std::size_t greatest) const {
  if (operand_count() < least || operand_count() > greatest) {
    refuse(fmt::format("has {} operands, not {}", operand_count(), least));
  }
}

std::uint32_t Decoder::take(std::uint32_t bytes) {
  const std::uint32_t size = static_cast<std::uint32_t>(
      aligned(bytes == 0 ? 4 : std::uint64_t{bytes} * 32, bytes == 0 ? 4 : 64));
  const std::uint32_t at =
      static_cast<std::uint32_t>(aligned(code.frame_bytes, bytes == 0 ? 4 : 64));
  if (at + size > max_frame)
    throw Unsupported{function.line, function.name + " needs too many registers"};
  code.frame_bytes = at + size;
  return at;
}

std::uint32_t Decoder::constant(std::uint64_t bits, std::uint32_t bytes) {
  if (bytes < 8) bits &= (1ull << (8 * bytes)) - 1;
  const auto [place, fresh] = constants_.try_emplace({bits, bytes}, 0);
  if (!fresh) return place->second;
  place->second = take(bytes);
  code.image.resize(code.frame_bytes);
  std::memset(code.image.data() + place->second, 0, std::size_t{bytes} * 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::memcpy(code.image.data() + place->second + lane * bytes, &bits, std::min(bytes, 8u));
  }
  return place->second;
}

std::uint32_t Decoder::special_slot(Special special, std::uint32_t bytes) {
  const auto [place, fresh] = specials_.try_emplace({special, bytes}, 0);
  if (fresh) {
    place->second = take(bytes);
    code.specials.push_back({special, place->second, bytes});
  }
  return place->second;
}

std::uint32_t Decoder::width_of(const Operand& o) const {
  if (o.kind == OperandKind::reg) return register_bytes(o.type);
  if (o.kind == OperandKind::special) return special_bytes(static_cast<Special>(o.index));
  return 0;
}

std::uint32_t Decoder::source(const Operand& o, std::uint32_t bytes, bool as_float) {
  switch (o.kind) {
    case OperandKind::reg:
      if (register_bytes(o.type) != bytes) {
        refuse(fmt::format("register {} has {} bits where {} are wanted",
                           function.registers[o.index].name, register_bytes(o.type) * 8,
                           bytes * 8));
      }
      return register_slot_[o.index];
    case OperandKind::immediate:
      return constant(literal(o, bytes, as_float), bytes);
    case OperandKind::special: {
      const auto special = static_cast<Special>(o.index);
      if (special >= Special::clock && special <= Special::globaltimer_hi)
        refuse("a clock can only be moved");
      if (special == Special::other) refuse("a special register that the virtual device lacks");
      return special_slot(special, bytes);
    }
    case OperandKind::variable:
      return constant(static_cast<std::uint64_t>(variable_address(o.index)), bytes);
    default:
      break;
  }
  refuse("an operand of a kind that does not fit");
}

std::uint32_t Decoder::target(const Operand& o, std::uint32_t bytes) {
  if (o.kind == OperandKind::sink) return no_slot;
  if (o.kind != OperandKind::reg) refuse("the result is no register");
  return source(o, bytes);
}

std::uint32_t Decoder::source_predicate(const Operand& o, bool& inverted) {
  if (o.kind == OperandKind::reg && o.type == Type::pred) {
    inverted = o.negated;
    return register_slot_[o.index];
  }
  if (o.kind == OperandKind::immediate) {
    inverted = o.bits == 0;
    return 0;  // the slot that is always true
  }
  refuse("an operand should be a predicate");
}

std::uint32_t Decoder::target_predicate(const Operand& o) {
  if (o.kind == OperandKind::sink) return 0;
  if (o.kind != OperandKind::reg || o.type != Type::pred)
    refuse("the result should be a predicate");
  return register_slot_[o.index];
}

const std::uint32_t* Decoder::list(std::vector<std::uint32_t> values) {
  code.lists.push_back(std::move(values));
  return code.lists.back().data();
}

std::int64_t Decoder::variable_address(std::uint32_t variable) const {
  return static_cast<std::int64_t>(program.variable_address[variable]);
}

MemorySpace Decoder::memory_space() const {
  switch (form().space) {
    case Space::global:
      return space_global;
    case Space::constant:
      return space_constant;
    case Space::shared:
      return space_shared;
    case Space::local:
      return space_local;
    case Space::param:
      return space_param;
    default:
      return space_generic;
  }
}

void Decoder::note_shared_unit(std::uint32_t bytes) {
  const MemorySpace space = memory_space();
  if (space != space_shared && space != space_generic) return;
  while (program.shadow_shift > 0 && (1u << program.shadow_shift) > bytes) --program.shadow_shift;
}

void Decoder::note_written_unit(std::uint32_t bytes) {
  const MemorySpace space = memory_space();
  if (space != space_global && space != space_generic) return;
  while (program.global_shift > 0 && (1u << program.global_shift) > bytes) --program.global_shift;
}

void Decoder::address(Step& step, const Operand& o, MemorySpace space, int slot) {
  if (o.kind != OperandKind::address) refuse("an operand should be an address in brackets");
  step.offset = o.offset;
  step.flags = static_cast<std::uint8_t>((step.flags & ~space_mask) | space);
  if (space == space_generic || (space == space_shared && form().has("shared::cluster")))
    step.flags |= flag_far;
  switch (o.base) {
    case OperandKind::reg: {
      const std::uint32_t width = register_bytes(o.type);
      if (width != 4 && width != 8) refuse("an address register must have 32 or 64 bits");
      if (width == 4) step.flags |= flag_narrow;
      step.o[slot] = register_slot_[o.index];
      return;
    }
    case OperandKind::variable: {
      const Variable& v = module.variables[o.index];
      if (v.space == Space::shared && space == space_generic)
        refuse("a shared variable needs the .shared space");
      step.o[slot] = constant(static_cast<std::uint64_t>(variable_address(o.index)), 8);
      return;
    }
    case OperandKind::formal: {
      step.o[slot] = constant(0, 8);
      const Variable& v = function.variables[o.index];
      if (function.is_entry && v.space == Space::param && o.index < function.parameter_count) {
        step.offset += static_cast<std::int64_t>(program.layout.offsets[o.index] + param_window);
        step.flags = static_cast<std::uint8_t>((step.flags & ~space_mask) | space_param);
        return;
      }
      step.offset += code.variable_offset[o.index];
      step.flags = static_cast<std::uint8_t>((step.flags & ~space_mask) | space_local | flag_frame);
      return;
    }
    default:
      step.o[slot] = constant(0, 8);
      return;
  }
}

std::uint32_t Decoder::code_for(std::uint32_t function_index) {
  if (!module.functions[function_index].has_body) {
    refuse(fmt::format("calls {}, which has no body", module.functions[function_index].name));
  }
  std::uint32_t& index = program.code_of[function_index];
  if (index == none_index) {
    index = static_cast<std::uint32_t>(program.codes.size());
    program.codes.emplace_back();
    program.codes.back().function = function_index;
  }
  return index;
}

// Local arrays and param-space variables are laid out in each thread's frame.
void Decoder::lay_out_variables() {
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < function.variables.size(); ++i) {
    const Variable& v = function.variables[i];
    const bool entry_parameter = function.is_entry && i < function.parameter_count;
    code.variable_offset.push_back(0);
    if (entry_parameter || v.space == Space::reg) continue;
    at = aligned(at, std::max(v.align, 1u));
    code.variable_offset.back() = static_cast<std::uint32_t>(at);
    at += v.bytes;
    if (at > max_lane_bytes)
      throw Unsupported{v.line, fmt::format("local memory of {} passes {} bytes a thread",
                                            function.name, max_lane_bytes)};
  }
  code.lane_bytes = static_cast<std::uint32_t>(aligned(at, 16));
}

void Decoder::lay_out_registers() {
  code.frame_bytes = 64;
  code.image.assign(64, 0xff);  // the predicate that is always true
  code.first_register = code.frame_bytes;
  register_slot_.resize(function.registers.size());
  for (std::size_t i = 0; i < function.registers.size(); ++i) {
    if (function.registers[i].type == Type::pred) register_slot_[i] = take(0);
  }
  place_registers(function, lifetimes(module, function), register_slot_,
                  [&](std::uint32_t bytes) { return take(bytes); });
  code.first_constant = code.frame_bytes =
      static_cast<std::uint32_t>(aligned(code.frame_bytes, 64));
}

Step Decoder::decode_one() {
  Step step;
  step.instruction = static_cast<std::uint32_t>(instruction_ - function.instructions.data());
  if (instruction_->guard != none_index) {
    if (function.registers[instruction_->guard].type != Type::pred)
      refuse("the guard is no predicate");
    step.guard = register_slot_[instruction_->guard];
    step.guard_invert = instruction_->guard_negated ? full_mask : 0;
  }
  if (form().opcode == Opcode::unknown) refuse("the virtual device does not know this instruction");
  const bool known =
      decode_arithmetic(*this, step) || decode_tensormap(*this, step) || decode_move(*this, step) ||
      decode_memory(*this, step) || decode_atomic(*this, step) || decode_async(*this, step) ||
      decode_mbarrier(*this, step) || decode_bulk(*this, step) || decode_cluster(*this, step) ||
      decode_collective(*this, step) || decode_control(*this, step) || decode_wgmma(*this, step) ||
      decode_wmma(*this, step) || decode_video(*this, step) || decode_lop3(*this, step) ||
      decode_texture(*this, step);
  if (!known) refuse("the virtual device does not know this form");
  return step;
}

void Decoder::find_reconvergence() {
  const std::size_t n = code.steps.size();
  std::vector<std::vector<std::uint32_t>> next(n);
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    const Instruction& ins = function.instructions[i];
    const Opcode opcode = module.forms[ins.form].opcode;
    const bool guarded = ins.guard != none_index;
    if (opcode == Opcode::op_bra) {
      next[i].push_back(code.steps[i].aux);
    } else if (opcode == Opcode::op_brx) {
      next[i].assign(code.steps[i].list, code.steps[i].list + code.steps[i].offset);
    } else if (opcode == Opcode::op_ret || opcode == Opcode::op_exit || opcode == Opcode::op_trap) {
      next[i].push_back(static_cast<std::uint32_t>(n - 1));
    } else {
      next[i].push_back(i + 1);
      continue;
    }
    if (guarded) next[i].push_back(i + 1);
    std::sort(next[i].begin(), next[i].end());
    next[i].erase(std::unique(next[i].begin(), next[i].end()), next[i].end());
  }
  code.reconverge = post_dominators(next);
}

void Decoder::decode() {
  lay_out_variables();
  lay_out_registers();
  for (const Instruction& ins : function.instructions) {
    instruction_ = &ins;
    code.steps.push_back(decode_one());
    code.work.push_back(work_of(form()));
  }
  Step leave;
  leave.run = run_leave;
  leave.instruction = none_index;
  code.steps.push_back(leave);
  code.work.push_back({});
  code.image.resize(std::max<std::size_t>(code.image.size(), code.first_constant));
  find_reconvergence();
  watch_registers(*this);
  code.frame_bytes = static_cast<std::uint32_t>(aligned(code.frame_bytes, 64));
}

}  // namespace cupilot::ptx
