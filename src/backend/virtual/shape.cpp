#include "backend/virtual/shape.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cupilot {
namespace {

constexpr double least_waits = 1e-3;  // of a block whose warps wait for no load

}  // namespace

ModelInput geometry(const CompiledKernel& kernel, const KernelPrograms& programs,
                    const ResolvedLaunch& launch) {
  ModelInput input;
  input.blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  input.threads_per_block = launch.block[0] * launch.block[1] * launch.block[2];
  input.cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  const EntryFacts* facts = find_entry(kernel, launch.entry);
  if (facts == nullptr) return input;
  if (facts->registers > 0) input.registers = facts->registers;
  input.shared_bytes = launch.shared + facts->static_shared;
  if (const ptx::Function* entry = programs.module().entry(facts->name)) {
    input.rounds_ahead = rounds_ahead(programs.module(), *entry);
  }
  return input;
}

void put_chain(ModelInput& input, const ptx::Chain& chain) {
  const double warps =
      static_cast<double>(input.blocks) * std::ceil(input.threads_per_block / 32.0);
  const double loads = input.counts[Counter::global_load_requests].value / warps;
  if (loads > 0) input.loads_in_flight = loads / std::max(chain.waits, least_waits);
  input.repeated_text = chain.text;
}

void add_spills(ModelInput& input, double bytes_a_thread) {
  const double threads = static_cast<double>(input.blocks) * input.threads_per_block;
  const double rounds = std::max(1.0, input.counts[Counter::barriers].value / (threads / 32));
  Count& local = input.counts[Counter::local_bytes];
  const double more = bytes_a_thread * threads * rounds;
  local = {local.value + more, local.low, local.high + more, CountHow::estimated};
}

void put_ring(ModelInput& input, const ptx::Chain& chain, double times) {
  if (chain.fills == 0 || chain.mbarriers < 2) return;
  input.rounds = chain.fills * times;
  input.rounds_ahead = std::max(0.0, std::floor(chain.mbarriers / 2) - 1);
}

bool fits_at_once(const ModelInput& input, const DeviceSpec& device) {
  const int fit =
      resident_blocks(device, input.threads_per_block, input.registers, input.shared_bytes);
  return input.blocks <= static_cast<std::int64_t>(device.sms) * std::max(1, fit);
}

void price_as_busiest(ModelInput& input, const DeviceSpec& device, double uneven) {
  if (fits_at_once(input, device))
    input.blocks = std::llround(static_cast<double>(input.blocks) / uneven);
}

ModelInput clearing(std::int64_t bytes) {
  ModelInput input;
  input.blocks = std::max<std::int64_t>(1, (bytes + 4095) / 4096);
  input.threads_per_block = 256;
  input.registers = 16;
  const auto set = [&](Counter counter, double value) {
    input.counts[counter] = {value, value, value, CountHow::exact};
  };
  set(Counter::global_store_sectors, std::ceil(static_cast<double>(bytes) / 32));
  set(Counter::global_store_requests, std::ceil(static_cast<double>(bytes) / 512));
  set(Counter::warp_instructions, std::ceil(static_cast<double>(bytes) / 128));
  set(Counter::issue_slots, std::ceil(static_cast<double>(bytes) / 128));
  set(Counter::l2_bytes, static_cast<double>(bytes));
  input.counts.source = CounterSource::interpreted;
  return input;
}

namespace {

struct Stretch {
  std::size_t first = 0, last = 0;  // instructions, both included
};

// The smallest loop of the text around an instruction: from the target of a branch back to it.
std::optional<Stretch> loop_around(const ptx::Function& entry, std::size_t at) {
  std::optional<Stretch> smallest;
  for (std::size_t i = at; i < entry.instructions.size(); ++i) {
    const ptx::Instruction& one = entry.instructions[i];
    for (std::size_t o = 0; o < one.operand_count; ++o) {
      const ptx::Operand& operand = entry.operands[one.first_operand + o];
      if (operand.kind != ptx::OperandKind::label || operand.index > at) continue;
      if (!smallest || operand.index > smallest->first) smallest = Stretch{operand.index, i};
    }
  }
  return smallest;
}

bool copies_ahead(const ptx::Form& form) {
  return form.opcode == ptx::Opcode::op_cp && !form.has("bulk") &&
         (form.has("commit_group") ||
          (form.has("async") && !form.has("wait_group") && !form.has("wait_all")));
}

// False if a loop waits for copies at once after it began them: none of its work lies between.
bool works_meanwhile(const ptx::Module& module, const ptx::Function& entry, std::size_t wait) {
  const std::optional<Stretch> loop = loop_around(entry, wait);
  if (!loop) return true;
  const std::size_t length = loop->last - loop->first + 1;
  for (std::size_t back = 1; back < length; ++back) {
    const std::size_t i = loop->first + (wait - loop->first + length - back) % length;
    const ptx::Form& form = module.form(entry.instructions[i]);
    if (copies_ahead(form)) return false;
    const bool reads = form.opcode == ptx::Opcode::op_ld && form.has("shared");
    if (reads || form.opcode == ptx::Opcode::op_ldmatrix || form.opcode == ptx::Opcode::op_wgmma)
      return true;
  }
  return true;
}

}  // namespace

double rounds_ahead(const ptx::Module& module, const ptx::Function& entry) {
  double ahead = -1;
  for (std::size_t i = 0; i < entry.instructions.size(); ++i) {
    const ptx::Instruction& instruction = entry.instructions[i];
    const ptx::Form& form = module.form(instruction);
    if (form.opcode != ptx::Opcode::op_cp || form.has("bulk")) continue;
    const bool all = form.has("wait_all");
    if (!all && (!form.has("wait_group") || instruction.operand_count == 0)) continue;
    double groups = 0;
    if (!all) {
      const ptx::Operand& operand = entry.operands[instruction.first_operand];
      if (operand.kind != ptx::OperandKind::immediate) continue;
      groups = static_cast<double>(operand.bits & 0xff);
    }
    ahead = std::max(ahead, groups + (works_meanwhile(module, entry, i) ? 1 : 0));
  }
  return ahead;
}

}  // namespace cupilot
