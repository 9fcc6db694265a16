#include "backend/virtual/shape.hpp"

#include <algorithm>
#include <cmath>

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

void price_as_busiest(ModelInput& input, const DeviceSpec& device, double uneven) {
  const int fit =
      resident_blocks(device, input.threads_per_block, input.registers, input.shared_bytes);
  const double places = static_cast<double>(device.sms) * std::max(1, fit),
               blocks = static_cast<double>(input.blocks);
  if (blocks <= places) input.blocks = std::llround(blocks / uneven);
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

double rounds_ahead(const ptx::Module& module, const ptx::Function& entry) {
  double ahead = -1;
  for (const ptx::Instruction& instruction : entry.instructions) {
    const ptx::Form& form = module.form(instruction);
    if (form.opcode != ptx::Opcode::op_cp || form.has("bulk")) continue;
    if (form.has("wait_all")) ahead = std::max(ahead, 1.0);
    if (!form.has("wait_group") || instruction.operand_count == 0) continue;
    const ptx::Operand& groups = entry.operands[instruction.first_operand];
    if (groups.kind == ptx::OperandKind::immediate)
      ahead = std::max(ahead, static_cast<double>(groups.bits & 0xff) + 1);
  }
  return ahead;
}

}  // namespace cupilot
