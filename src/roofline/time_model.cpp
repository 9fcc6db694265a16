// Modelled time of launches from their counts (docs/formats/time-model.md explains the terms and
// their sources).
#include <algorithm>
#include <array>
#include <cmath>

#include <cupilot/verdict.hpp>

#include "base/norm.hpp"
#include "roofline/time_terms.hpp"

namespace cupilot {
namespace {

constexpr double overlap =
    6;  // exponent of the norm that joins pipes: they overlap almost, not wholly
constexpr double wait_overlap =
    2.2;  // the same for a block's own waits and the work of all blocks beside it
constexpr double memory_overlap = 5;  // the same for the SMs, L2 and DRAM
constexpr double beside_products =
    1.9;  // in a product of matrices, issue slots of what is no multiply-add: addresses, branches
constexpr double product_share =
    0.1;  // share of a launch's instructions that makes it such a product
constexpr double operand_share =
    0.01;  // wavefronts of shared memory an instruction that bring a product's operands, at least
constexpr double warp_gaps =
    1.6;  // factor on tensor cycles of single warps' products, at the sustained rate
constexpr double fill_share =
    0.5;  // share of the cycles that data take into an SM, beside L2's own rate
constexpr double round_cycles = 40;  // barrier, and the first shared loads after it
constexpr double l2_latency_s = 200e-9;
constexpr double wait_cycles =
    185;  // a load from L2 that a warp waits for, others of its block waiting at other times
constexpr double far_cycles = 1500;    // more where all loads come from DRAM
constexpr double stage_cycles = 1000;  // a stage of a ring, from its release until it is full again
constexpr double half_fill = 0.5;      // share of a block's bytes that come while it waits
constexpr double end_cycles = 4000;    // a launch's first loads and last stores
constexpr double turn_share = 0.5;     // share of end_cycles at each change of blocks
constexpr double cluster_cycles = 3700;  // until the blocks of a cluster have met, first and last
constexpr double shared_requests =
    1.25;  // factor on L2's rate: SMs side by side ask for the same lines, which it sends once
// The factor of products of matrices is the least, times a power of the share of lines that blocks
// side by side load apart, where that is known. Set on 33 landscapes of an H200.
constexpr double fewest_shared = 0.7, sharing = 0.6;
constexpr double most_torn = 0.5;  // of what blocks store: beyond, nothing was timed
constexpr double torn_line = 3;    // transfers for each part of a line that a block stores, beyond
                                   // those of whole lines
constexpr double tensor_slowdown = 0.2;  // share of the clock, where the tensor cores never idle
constexpr double arrival_latencies = 4;  // store, fence, ticket, fence, one after the other
constexpr double join_cycles = 3400;     // parts of a sum beside a ring
constexpr double later_launch = 0.4;     // cost of a further launch of a plan, in launches
constexpr double default_loads_in_flight = 8;  // two a step, loops unrolled by four as NVRTC does
constexpr double last_loads_in_flight =
    16;  // a block that sums parts that others left: straight rows of loads
constexpr double sm_bytes_a_cycle = 64;  // from L2 into one SM

// One launch's numbers, a block's share of everything.
struct Launch {
  const DeviceSpec& device;
  const ModelInput& input;
  PipeCycles whole;
  double blocks = 1;
  double warps = 1;
  int resident = 1;
  bool multiplies = false;  // matrices

  Launch(const DeviceSpec& d, const ModelInput& in, Bound bound)
      : device(d), input(in), whole(pipe_cycles(d, in.counts, bound)), bound_(bound) {
    const double instructions = count(Counter::warp_instructions);
    const double products = std::min(instructions, count(Counter::flops_fp32) / 64);
    const bool staged = count(Counter::shared_load_wavefronts) > operand_share * instructions;
    multiplies = whole.tensor > 0 || (staged && products > product_share * instructions);
    if (multiplies) {
      whole.issue = std::max(whole.issue,
                             (products + beside_products * (instructions - products)) / schedulers);
    }
    whole.tensor =
        input.rounds > 0 ? warpgroup_cycles(d, in.counts, bound) : warp_gaps * whole.tensor;
    whole.fill *= fill_share;
    blocks = static_cast<double>(std::max<std::int64_t>(1, in.blocks));
    warps = std::ceil(std::max(1, in.threads_per_block) / 32.0);
    resident = std::max(1, resident_blocks(d, in.threads_per_block, in.registers, in.shared_bytes));
  }

  double merged_requests() const {
    return multiplies && input.distinct_loads > 0
               ? fewest_shared * std::pow(input.distinct_loads, -sharing)
               : shared_requests;
  }

  double count(Counter counter) const { return bounded(input.counts[counter], bound_); }
  double a_block(double cycles) const { return cycles / blocks; }

  // Cycles that an SM's pipes are busy for one block.
  double work() const {
    return a_block(joined({whole.issue, whole.fp32, whole.fp64, whole.tensor, whole.integer,
                           whole.special, whole.memory, whole.fill},
                          overlap));
  }

  double rounds() const {
    if (input.rounds > 0) return input.rounds;
    const double barriers = count(Counter::barriers) / (blocks * warps);
    return ahead() > 0 ? barriers : barriers / 2;
  }

  double ahead() const {
    if (input.rounds_ahead >= 0) return input.rounds_ahead;
    return count(Counter::async_copy_bytes) > 0 ? 1 : 0;
  }

  // True if loads pass by registers alone and the text says how many a warp has under way.
  bool by_registers() const {
    return input.loads_in_flight > 0 && count(Counter::async_copy_bytes) == 0;
  }

  double wait() const {
    const double from_l2 = l2_bytes(input.counts, bound_);
    const double far = from_l2 > 0 ? std::min(1.0, count(Counter::dram_read_bytes) / from_l2) : 0;
    return wait_cycles + far_cycles * far;
  }

  // Cycles of one block beside nothing else, its pipes idle: what a warp waits for its own loads,
  // or what the stages of a ring or the rounds of a main loop wait for theirs.
  double own() const {
    const double loads = count(Counter::global_load_requests) / (blocks * warps);
    const double in_flight =
        input.loads_in_flight > 0 ? input.loads_in_flight : default_loads_in_flight;
    // Beside a ring that warpgroups' products are fed from, loads are of what blocks left one
    // another, in L2.
    const double one_wait = input.rounds > 0 && whole.tensor > 0 ? wait_cycles : wait();
    const double cycles = input.loads_in_flight > 0 ? loads / in_flight * one_wait : 0;
    const double n = rounds(), fill = a_block(whole.fill);
    if (input.rounds > 0)
      return std::max(cycles, (n * stage_cycles + fill) / std::max(1.0, ahead()));
    if (n >= 1 && !by_registers()) {
      const double hidden = ahead() * std::max(cycles, work()) / n;
      return cycles + n * (round_cycles + std::max(0.0, wait() + fill / n - hidden));
    }
    return std::max(cycles, loads / in_flight * wait());
  }

  // Cycles until `active` blocks that start together on one SM are done: the waits of one hide
  // behind the work of others.
  double together(double active) const {
    const double alone =
        std::max(own() + half_fill * a_block(whole.fill), input.serial_latency_cycles);
    return joined({active * work(), alone}, wait_overlap);
  }

  // Cycles of the busiest SM. Blocks come in groups of what fits; the last, smaller group starts as
  // places fall free, so it is priced half as a group of its own and half as its share of a full
  // one.
  double busiest() const {
    const double mine = std::ceil(blocks / device.sms);
    const double full = std::floor(mine / resident);
    const double rest = mine - full * resident;
    const double active = std::min<double>(resident, std::max(1.0, blocks / device.sms));
    if (full == 0) return together(rest) + ends(mine, active);
    const double group = together(resident);
    const double last = rest > 0 ? (together(rest) + rest / resident * group) / 2 : 0;
    return full * group + last + ends(mine, active);
  }

  // Half for loads, half for stores. Where several blocks are resident, one changes while the
  // others work.
  double ends(double mine, double active) const {
    const double loads = count(Counter::global_load_requests) > 0 ? 0.5 : 0;
    const double stores = count(Counter::global_store_requests) > 0 ? 0.5 : 0;
    return end_cycles * (loads + stores) * (1 + turn_share * (mine / active - 1) / active) +
           (input.cluster > 1 ? cluster_cycles : 0);
  }

  // Seconds of a cycle: the clock falls as tensor cores fill up.
  double cycle_seconds(double cycles) const {
    const double busy =
        cycles > 0 ? std::min(1.0, whole.tensor / std::min<double>(device.sms, blocks) / cycles)
                   : 0;
    return 1 / (clock(device) * (1 - (input.rounds > 0 ? tensor_slowdown * busy : 0)));
  }

  // Cycles of what is left to one block after its group has arrived. Nothing hides it: the others
  // are gone.
  double last_block() const {
    const bool unseen = input.rounds > 0 && count(Counter::atomic_requests) > 0;
    if (input.last_block_requests <= 0) return unseen ? join_cycles : 0;
    const double latency = l2_latency_s * clock(device);
    const double waits_for = input.last_block_requests / warps / last_loads_in_flight * latency;
    const double moves = input.last_block_requests * 128 / sm_bytes_a_cycle;
    return joined({waits_for, moves}, 3) + arrival_latencies * latency;
  }

  // Assumes work spread evenly over all SMs and groups.
  double even() const {
    const double mine = blocks / device.sms;
    const double active = std::min<double>(resident, std::max(1.0, mine));
    return mine / active * together(active) + ends(mine, active);
  }

 private:
  Bound bound_;
};

using Terms = std::array<double, term_count>;

// Microseconds of one launch without its launch cost, and what each resource alone would need.
double launch_us(const DeviceSpec& device, const ModelInput& input, Bound bound, Terms& terms) {
  const Launch launch(device, input, bound);
  const double us = 1e6 * launch.cycle_seconds(launch.busiest());
  const double sms = std::min<double>(device.sms, launch.blocks);
  const auto add = [&](Term term, double value) { terms[static_cast<std::size_t>(term)] += value; };
  add(Term::issue, launch.whole.issue / sms * us);
  add(Term::fp32, launch.whole.fp32 / sms * us);
  add(Term::fp64, launch.whole.fp64 / sms * us);
  add(Term::tensor, launch.whole.tensor / sms * us);
  add(Term::integer, launch.whole.integer / sms * us);
  add(Term::special, launch.whole.special / sms * us);
  add(Term::shared, std::max(launch.whole.memory, launch.whole.fill) / sms * us);
  const double l2 =
      l2_bytes(input.counts, bound) / (launch.merged_requests() * device.l2_bytes_per_s) * 1e6;
  const double torn = torn_line * std::clamp(input.stored_lines - 1, 0.0, most_torn);
  const double dram_bytes =
      launch.count(Counter::dram_read_bytes) + launch.count(Counter::dram_write_bytes) * (1 + torn);
  const double dram = dram_bytes / device.dram_sustained * 1e6;
  add(Term::l2, l2);
  add(Term::dram, dram);
  const double last = launch.last_block() * us;
  const double busiest = launch.busiest() * us;
  const double even = std::min(busiest, launch.even() * us);
  const double busy = launch.work() * launch.blocks / sms * us;
  add(Term::tail, busiest - even);
  add(Term::latency, std::max(0.0, even - busy) + last);
  return joined({busiest, l2, dram}, memory_overlap) + last;
}

double total_us(const DeviceSpec& device, const std::vector<ModelInput>& launches, Bound bound,
                Terms& terms) {
  terms.fill(0);
  double total = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const double cost = device.launch_seconds * 1e6 * (i == 0 ? 1 : later_launch);
    terms[static_cast<std::size_t>(Term::launch)] += cost;
    total += cost + launch_us(device, launches[i], bound, terms);
  }
  return total;
}

}  // namespace

ModelledTime model_time(const DeviceSpec& device, const std::vector<ModelInput>& launches) {
  ModelledTime time;
  Terms terms{};
  time.low_us = total_us(device, launches, Bound::low, terms);
  time.high_us = total_us(device, launches, Bound::high, terms);
  time.us = total_us(device, launches, Bound::value, terms);
  // Waves make the model step, so an end of the intervals may fall on the wrong side of the middle.
  time.low_us = std::min(time.low_us, time.us);
  time.high_us = std::max(time.high_us, time.us);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < term_count; ++i) {
    time.terms_us.emplace_back(term_names[i], terms[i]);
    if (terms[i] > terms[largest]) largest = i;
  }
  time.binding = term_names[largest];
  return time;
}

}  // namespace cupilot
