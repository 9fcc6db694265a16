// Clusters: barrier.cluster, addresses of other blocks' shared memory, the end of a block,
// setmaxnreg.
#include <algorithm>

#include <fmt/format.h>

#include "ptx/machine/block.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The warp goes on from the phase that it arrived at.
void leave_barrier(Warp& w, const ClusterBarrier& barrier) {
  w.cluster_seen = w.cluster_phase + 1;
  acquire_from(w, barrier.done);
}

// aux bit 0: relaxed. Fenced initialisations of mbarriers are told either way.
void cluster_arrive(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  Cluster& cluster = *w.block->cluster;
  if ((w.cluster_owed & w.mask) != 0) {
    return fault(w, s, first_lane(w.cluster_owed & w.mask), "run.divergence",
                 "arrives at the cluster's barrier again without having waited");
  }
  tick(w);
  drain_reads(w);
  if ((s.aux & 1) == 0) {
    release_to(w, cluster.barrier.open);
  } else {
    note_relaxed(w, s, 0, cluster.barrier.phase);
  }
  for (Mbarrier& b : cluster.mbarriers) {
    if (b.fenced && b.owner == 32 * w.block->rank + w.index)
      b.told = std::min(b.told, cluster.barrier.phase);
  }
  w.cluster_owed |= w.mask;
  w.cluster_phase = cluster.barrier.phase;
  cluster.barrier.arrived += static_cast<u32>(__builtin_popcount(w.mask));
  count_up(w, Counter::barriers, 1);
  settle_cluster_barrier(cluster);
}

void cluster_wait(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  ClusterBarrier& barrier = w.block->cluster->barrier;
  if ((w.mask & ~w.cluster_owed) != 0) {
    return fault(w, s, first_lane(w.mask & ~w.cluster_owed), "run.divergence",
                 "waits at the cluster's barrier without having arrived");
  }
  w.cluster_owed &= ~w.mask;
  if (barrier.phase > w.cluster_phase) return leave_barrier(w, barrier);
  w.state = WarpState::waiting;
  w.barrier = waits_for_cluster;
  w.stop = true;
  barrier.waiting.push_back(&w);
}

u64 lane_value(const Lanes& l, u32 slot, u32 bytes, u32 lane) {
  return bytes == 8 ? l.at<u64>(slot)[lane] : l.at<u32>(slot)[lane];
}

// o[0] result, o[1] address, o[2] rank.
void map_address(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest), rank = w.at<u32>(s.o[2])[lane];
    const u64 address = lane_value(w, s.o[1], s.width, lane) + static_cast<u64>(s.offset);
    if (rank >= w.block->cluster->blocks.size()) {
      return fault(
          w, s, lane, "run.out_of_bounds",
          fmt::format("block {} of a cluster of {}", rank, w.block->cluster->blocks.size()));
    }
    if (s.aux == 1 && (address & window_mask) != shared_window)
      return fault(w, s, lane, "run.out_of_bounds",
                   fmt::format("address 0x{:x} is not in shared memory", address));
    const u64 out = (address & ~(u64{0xff} << rank_shift)) | (u64{rank + 1} << rank_shift);
    if (s.width == 8) w.at<u64>(s.o[0])[lane] = out;
    if (s.width == 4) w.at<u32>(s.o[0])[lane] = static_cast<u32>(out);
  }
}

void rank_of(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const u64 rank =
        (lane_value(w, s.o[1], s.width, lane) + static_cast<u64>(s.offset)) >> rank_shift & 0xff;
    w.at<u32>(s.o[0])[lane] = rank == 0 ? w.block->rank : static_cast<u32>(rank - 1);
  }
}

// aux: registers a thread; flags 1: more. Registers come from what other warps gave back.
void set_registers(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Block& block = *w.block;
  if (w.mask == 0) return;
  if (w.mask != w.live)
    return fault(w, s, first_lane(w.mask), "run.divergence",
                 "setmaxnreg is not reached by all lanes of a warp");
  if (w.registers == 0) return;
  if ((s.flags & 1) == 0) {
    if (s.aux > w.registers) {
      return fault(w, s, first_lane(w.mask), "run.launch",
                   fmt::format("setmaxnreg.dec to {} registers from {}", s.aux, w.registers));
    }
    block.registers_free += w.registers - s.aux;
    for (Warp& other : block.warps) {
      if (other.state == WarpState::waiting && other.barrier == waits_for_registers)
        other.state = WarpState::ready;
    }
  } else {
    const u32 more = s.aux > w.registers ? s.aux - w.registers : 0;
    if (more > block.registers_free) {
      w.state = WarpState::waiting;
      w.barrier = waits_for_registers;
      w.stop = true;
      --w.pc;
      --w.counts[w.pc].warps;
      return;
    }
    block.registers_free -= more;
  }
  w.registers = s.aux;
}

bool decode_cluster_barrier(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(0, 0);
  d.program.async = true;
  step.aux = form.has("relaxed") ? 1 : 0;
  step.run = form.has("arrive") ? cluster_arrive : form.has("wait") ? cluster_wait : nullptr;
  return step.run != nullptr;
}

bool decode_rank_form(Decoder& d, Step& step, bool maps) {
  const Form& form = d.form();
  d.want_operands(maps ? 3 : 2, maps ? 3 : 2);
  if (form.types.size() != 1) return false;
  const bool named = form.has("shared::cluster");
  // getctarank gives 32 bits whatever the address has.
  const Operand& address = d.operand(1);
  const u32 width = bytes_of(form.types[0]);
  if (width != 4 && width != 8) d.refuse("an address has 32 or 64 bits");
  step.width = static_cast<u8>(width);
  step.o[0] = d.target(d.operand(0), maps ? width : 4);
  if (step.o[0] == no_slot) d.refuse("the result cannot be left out");
  step.o[1] = d.source(address, width);
  if (maps) step.o[2] = d.source(d.operand(2), 4);
  step.aux = named ? 0 : 1;
  step.run = maps ? map_address : rank_of;
  return true;
}

bool decode_registers(Decoder& d, Step& step) {
  const Form& form = d.form();
  d.want_operands(1, 1);
  const Operand& count = d.operand(0);
  if (count.kind != OperandKind::immediate || count.bits < 24 || count.bits > 256 ||
      count.bits % 8 != 0)
    d.refuse("takes a number from 24 to 256, a multiple of 8");
  if (form.has("inc") == form.has("dec")) return false;
  step.aux = static_cast<u32>(count.bits);
  step.flags = form.has("inc") ? 1 : 0;
  step.run = set_registers;
  return true;
}

// True if bulk copies may still read the shared memory of a block that ends: then that is its
// fault.
bool leaves_copies(Block& block) {
  for (Warp& w : block.warps) {
    for (u32 lane = 0; lane < w.streams.size(); ++lane) {
      if (w.streams[lane].issued <= w.streams[lane].waited) continue;
      fault_here(
          w, "run.race",
          fmt::format(
              "the block ends while a bulk copy of thread {} may still read its shared memory: no "
              "cp.async.bulk.commit_group and wait_group.read after it",
              32 * w.index + lane));
      return true;
    }
  }
  return false;
}

// True if a copy by another block may still write into a block that ends: then that is its fault.
bool awaits_copies(Block& block) {
  const Cluster& cluster = *block.cluster;
  for (const FarCopy& copy : cluster.far_copies) {
    if (copy.rank != block.rank) continue;
    const Mark& mark = cluster.marks[copy.mark];
    if (std::any_of(block.warps.begin(), block.warps.end(),
                    [&](const Warp& w) { return mark_ordered(w, mark); }))
      continue;
    fault_here(block.warps.front(), "run.race",
               fmt::format("block {} of the cluster ends before any of its threads sees the copy "
                           "complete that thread {} of block {} issued into its shared memory",
                           block.rank, mark.thread % 1024, mark.thread / 1024));
    return true;
  }
  return false;
}

}  // namespace

void settle_cluster_barrier(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0) return;
  u32 wanted = 0;
  for (const auto& block : cluster.blocks) wanted += block->thread_count - block->exited_threads;
  if (barrier.arrived < wanted) return;
  barrier.arrived = 0;
  ++barrier.phase;
  merge_knowledge(barrier.done, barrier.open);
  cluster.idle_rounds = 0;
  for (Warp* w : barrier.waiting) {
    leave_barrier(*w, barrier);
    w->state = WarpState::ready;
  }
  barrier.waiting.clear();
  for (const auto& block : cluster.blocks) settle_suspect(*block);
}

std::string waiting_reason(const Warp& w) {
  if (w.barrier == waits_for_registers)
    return "setmaxnreg.inc waits for registers that no warp gives back";
  const Cluster& cluster = *w.block->cluster;
  u32 wanted = 0;
  for (const auto& block : cluster.blocks) wanted += block->thread_count - block->exited_threads;
  return fmt::format("the cluster's barrier waits for {} threads but only {} ever come", wanted,
                     cluster.barrier.arrived);
}

void note_relaxed(Warp& w, const Step& s, u32 slot, u32 phase) {
  constexpr std::size_t most = 64;
  std::deque<RelaxedArrivals>& all = w.block->cluster->relaxed;
  auto at = std::find_if(all.begin(), all.end(), [&](const RelaxedArrivals& one) {
    return one.slot == slot && one.phase == phase;
  });
  if (at == all.end()) {
    if (all.size() == most) all.pop_front();
    at = all.insert(all.end(), {slot, phase, w.code, &s, {}});
  }
  release_to(w, at->clock);
}

std::string relaxed_cause(Warp& w, const std::function<bool()>& ordered) {
  for (const RelaxedArrivals& one : w.block->cluster->relaxed) {
    const u32 seen = one.slot == 0                     ? w.cluster_seen
                     : one.slot < w.beyond.seen.size() ? w.beyond.seen[one.slot]
                                                       : 0;
    if (seen <= one.phase) continue;
    acquire_from(w, one.clock);
    if (!ordered()) continue;
    const Module& module = *w.block->program->module;
    const Instruction& by =
        module.functions[one.code->function].instructions[one.step->instruction];
    return fmt::format("; {} (ptx line {}) between the two is relaxed and releases nothing",
                       module.form(by).text, by.line);
  }
  return "";
}

void note_far(Warp& w, Block& target) { note_far(w, target, w.clock); }

void note_far(Warp& w, Block& target, u32 clock) {
  if (target.far_users.empty()) target.far_users.assign(32 * w.block->cluster->blocks.size(), 0);
  target.far_users[32 * w.block->rank + w.index] = clock;
}

void end_block(Block& block) {
  finish_block(block);
  block.finished = true;
  settle_suspect(block);
  if (block.faulted || !block.launch->options->check_races) return;
  if (leaves_copies(block) || awaits_copies(block)) return;
  for (u32 i = 0; i < block.far_users.size(); ++i) {
    const u32 clock = block.far_users[i];
    const bool told =
        clock == 0 || std::any_of(block.warps.begin(), block.warps.end(),
                                  [&](const Warp& w) { return w.beyond.far[i] > clock; });
    if (told) continue;
    Warp& last = block.warps.front();
    const std::string relaxed = relaxed_cause(last, [&] { return last.beyond.far[i] > clock; });
    return fault_here(
        last, "run.race",
        fmt::format("block {} of the cluster ends while warp {} of block {} may still use its "
                    "shared memory{}",
                    block.rank, i % 32, i / 32,
                    relaxed.empty() ? ": no cluster barrier between" : relaxed));
  }
}

bool decode_cluster(Decoder& d, Step& step) {
  const Form& form = d.form();
  switch (form.opcode) {
    case Opcode::op_barrier:
      return form.has("cluster") && decode_cluster_barrier(d, step);
    case Opcode::op_mapa:
      return decode_rank_form(d, step, true);
    case Opcode::op_getctarank:
      return decode_rank_form(d, step, false);
    case Opcode::op_setmaxnreg:
      return decode_registers(d, step);
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
