// A module made ready to run: variables at their places, the entry and what it may call decoded.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <cupilot/parts/rejection.hpp>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/decode.hpp"
#include "ptx/machine/shared_layout.hpp"
#include "ptx/syntax/flags.hpp"

namespace cupilot::ptx {
namespace {

// Functions that the entry may call, and the variables that they name: what other kernels declare
// takes no memory here.
struct Reach {
  std::vector<char> function, variable;
  bool reserved = false;  // some code asks where the system's own shared memory lies
};

bool of_reserved(const Operand& operand) {
  const auto special = static_cast<Special>(operand.index);
  return operand.kind == OperandKind::special && special >= Special::reserved_smem_offset_begin &&
         special <= Special::reserved_smem_offset_1;
}

Reach reach_of(const Module& module, std::uint32_t entry) {
  Reach out{std::vector<char>(module.functions.size(), 0),
            std::vector<char>(module.variables.size(), 0), false};
  std::vector<std::uint32_t> todo{entry};
  out.function[entry] = 1;
  while (!todo.empty()) {
    const Function& f = module.functions[todo.back()];
    todo.pop_back();
    for (const Operand& o : f.operands) {
      const OperandKind kind = o.kind == OperandKind::address ? o.base : o.kind;
      out.reserved = out.reserved || of_reserved(o);
      if (kind == OperandKind::variable) out.variable[o.index] = 1;
      if (kind == OperandKind::function && !out.function[o.index]) {
        out.function[o.index] = 1;
        todo.push_back(o.index);
      }
    }
  }
  return out;
}

Result<void> place_shared(Program& program, const Reach& reach) {
  const std::vector<Variable>& variables = program.module->variables;
  const auto placed = [&](std::size_t i) {
    return reach.variable[i] && variables[i].space == Space::shared;
  };
  std::vector<const Variable*> held;
  std::uint64_t bytes = 0;
  std::uint32_t extern_align = 16;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    if (!placed(i)) continue;
    if (v.bytes == 0) extern_align = std::max(extern_align, v.align);
    if (v.bytes != 0) held.push_back(&v);
    bytes += v.bytes + v.align;
    if (bytes > (1u << 24))
      return Error{ErrorCode::failure, "static shared memory passes 16 MiB", "declare less"};
  }
  program.shared = shared_layout(held, extern_align, reach.reserved);
  std::size_t next = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!placed(i)) continue;
    program.variable_address[i] = variables[i].bytes == 0
                                      ? shared_base + program.shared.here.dynamic_at
                                      : program.shared.address[next++];
  }
  return {};
}

Result<void> place_variables(Program& program, const Reach& reach) {
  const Module& module = *program.module;
  program.variable_address.assign(module.variables.size(), 0);
  if (auto placed = place_shared(program, reach); !placed) return placed;
  for (std::size_t i = 0; i < module.variables.size(); ++i) {
    const Variable& v = module.variables[i];
    if (!reach.variable[i] || v.space == Space::shared) continue;
    auto added = program.constants.add(
        v.name, v.bytes, v.space == Space::constant ? Access::read_only : Access::read_write);
    if (!added) return added.error();
    program.variable_address[i] = program.constants.address(*added);
    program.variable_buffer.emplace_back(i, *added);
  }
  return {};
}

// Places a grid's barrier where the driver keeps it: its size, then the word that blocks add to.
Result<void> place_grid_barrier(Program& program, const Reach& reach) {
  constexpr std::size_t bytes = 16;
  for (std::size_t i = 0; i < program.module->functions.size(); ++i) {
    const std::vector<Operand>& operands = program.module->functions[i].operands;
    if (!reach.function[i] || std::none_of(operands.begin(), operands.end(), of_grid_barrier))
      continue;
    auto added = program.constants.add("the grid's barrier", bytes, Access::read_write);
    if (!added) return added.error();
    program.grid_barrier = program.constants.address(*added);
    program.variable_buffer.emplace_back(none_index, *added);
    return {};
  }
  return {};
}

}  // namespace

void reset_variables(Program& program) {
  for (const auto& [variable, buffer] : program.variable_buffer) {
    const auto data = program.constants.data(buffer);
    std::fill(data.begin(), data.end(), std::uint8_t{0});
    if (variable != none_index) {
      const std::vector<std::uint8_t>& initial = program.module->variables[variable].initial;
      std::copy(initial.begin(), initial.end(), data.begin());
    }
    program.constants.mark_written(buffer);
  }
}

ParameterLayout parameter_layout(const Function& entry) {
  ParameterLayout out;
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < entry.parameter_count; ++i) {
    const Variable& v = entry.parameter(i);
    at = aligned(at, std::max(v.align, 1u));
    out.offsets.push_back(static_cast<std::uint32_t>(at));
    at += v.bytes;
    if (at > (1u << 20)) at = 1u << 20;
  }
  out.bytes = static_cast<std::uint32_t>(at);
  return out;
}

void ProgramDeleter::operator()(Program* program) const { delete program; }

namespace {

// Without any of these no block's plain accesses come after another's: atomics by themselves are
// relaxed.
bool orders_blocks(const Form& form) {
  const bool within_block =
      form.has("cta") || (form.space == Space::shared && !form.has("shared::cluster"));
  if (within_block) return false;
  if (form.opcode == Opcode::op_fence || form.opcode == Opcode::op_membar ||
      form.opcode == Opcode::op_mbarrier)
    return true;
  static constexpr std::array words = {"acquire", "release", "acq_rel", "cluster"};
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return form.has(word); });
}

// A fence of both proxies for global memory, or stores that are the asynchronous proxy's own.
bool orders_proxies(const Form& form) {
  if (form.opcode == Opcode::op_fence && form.has("proxy"))
    return !form.has("tensormap::generic") && !form.has("shared::cta") &&
           !form.has("shared::cluster");
  return form.text.find("bulk") != std::string::npos &&
         form.text.find("global.shared") != std::string::npos;
}

// Blocks that add to the same words are better not begun on several threads.
bool updates_global(const Form& form) {
  const bool adds =
      form.opcode == Opcode::op_atom || form.opcode == Opcode::op_red || form.has("reduce");
  return adds && form.space != Space::shared;
}

bool reads_strongly(const Form& form) {
  if (form.opcode != Opcode::op_ld || form.space == Space::shared || form.has("cta")) return false;
  static constexpr std::array words = {"volatile", "relaxed", "acquire", "mmio"};
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return form.has(word); });
}

// True if an instruction may change more than registers; atomics tell themselves whether they did.
bool changes_state(const Form& form) {
  switch (form.opcode) {
    case Opcode::unknown:
    case Opcode::op_alloca:
    case Opcode::op_call:
    case Opcode::op_clusterlaunchcontrol:
    case Opcode::op_cp:
    case Opcode::op_discard:
    case Opcode::op_fabric:
    case Opcode::op_griddepcontrol:
    case Opcode::op_mbarrier:
    case Opcode::op_multimem:
    case Opcode::op_setmaxnreg:
    case Opcode::op_st:
    case Opcode::op_stackrestore:
    case Opcode::op_stmatrix:
    case Opcode::op_sured:
    case Opcode::op_sust:
    case Opcode::op_tensormap:
    case Opcode::op_wgmma:
      return true;
    case Opcode::op_bar:
    case Opcode::op_barrier:
      return !form.has("warp");
    case Opcode::op_wmma:
      return form.has("store");
    case Opcode::op_red:
      return form.has("async");
    default:
      return false;
  }
}

void note_changing(Program& program, const Code& code) {
  const auto& instructions = program.module->functions[code.function].instructions;
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    if (changes_state(program.module->form(instructions[i])))
      program.changing.push_back(code.first_count + i);
  }
}

// Notes the order between blocks made by the instructions of an entry and of all that it may call.
void note_order(Program& program, const Reach& reach) {
  const Module& module = *program.module;
  for (std::size_t f = 0; f < module.functions.size(); ++f) {
    if (!reach.function[f]) continue;
    for (const Instruction& instruction : module.functions[f].instructions) {
      const Form& form = module.forms[instruction.form];
      program.orders_blocks |= orders_blocks(form);
      program.orders_proxies |= orders_proxies(form);
      program.updates_global |= updates_global(form);
      program.reads_strongly |= reads_strongly(form);
    }
  }
}

}  // namespace

Attempt<ProgramPtr> make_program(std::shared_ptr<const Module> module, std::string_view entry) {
  const Function* found = module->entry(entry);
  if (found == nullptr || !found->has_body) {
    return Error{ErrorCode::failure, fmt::format("the PTX holds no kernel named {}", entry),
                 "name one of its entries"};
  }
  ProgramPtr program(new Program);
  program->module = module;
  program->layout = parameter_layout(*found);
  if (program->layout.bytes > 32764)
    return reject("run.unsupported",
                  fmt::format("{} takes more than 32764 bytes of parameters", entry));
  program->code_of.assign(module->functions.size(), none_index);
  const auto index = static_cast<std::uint32_t>(found - module->functions.data());
  const Reach reach = reach_of(*module, index);
  note_order(*program, reach);
  if (auto placed = place_variables(*program, reach); !placed) return placed.error();
  if (auto placed = place_grid_barrier(*program, reach); !placed) return placed.error();
  program->codes.emplace_back();
  program->code_of[index] = 0;
  program->codes[0].function = index;
  try {
    for (std::size_t i = 0; i < program->codes.size(); ++i) {
      Code& code = program->codes[i];
      Decoder(*program, code, code.function).decode();
      code.first_count = program->step_count;
      note_changing(*program, code);
      program->step_count += static_cast<std::uint32_t>(code.steps.size());
      program->local_bytes += code.lane_bytes;
    }
  } catch (const Unsupported& refused) {
    return reject("run.unsupported", refused.message, fmt::format("ptx line {}", refused.line));
  }
  return program;
}

}  // namespace cupilot::ptx
