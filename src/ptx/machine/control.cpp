// Branches, returns and barriers. A divergent branch runs its sides one after the other; lanes meet
// again at the branch's immediate post-dominator.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/decode.hpp"
#include "ptx/machine/members.hpp"
#include "ptx/machine/memory.hpp"
#include "ptx/machine/mixed.hpp"
#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void push(Warp& w, const Step& s, StackEntry entry) {
  if (entry.mask == 0) return;
  constexpr std::size_t max_stack = 4096;
  if (w.stack.size() >= max_stack) {
    fault(w, s, first_lane(entry.mask), "run.unsupported",
          "branches diverge deeper than the virtual device can follow");
    return;
  }
  w.stack.push_back(entry);
}

namespace {

// True for half of the warps, throughout a launch: the order of sides where a warp parts.
bool last_side_first(const Warp& w) {
  const u64 seed = w.block->launch->options->seed;
  return seed != 0 && (mixed(seed ^ mixed(64 * w.block->index + w.index + 7)) & 1) != 0;
}

// The active lanes go to several places. `targets` lists place and lanes; all meet at `meet`.
void split(Warp& w, const Step& s, const StackEntry* targets, std::size_t count, u32 meet) {
  count_up(w, Counter::divergent_branches, 1);
  w.branched = true;
  if (w.reconverge != meet) push(w, s, {meet, w.reconverge, w.active});
  // PTX says nothing of which side comes first.
  const bool backwards = last_side_first(w);
  std::size_t first = count;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t i = backwards ? count - 1 - n : n;
    if (targets[i].pc == meet || targets[i].mask == 0) continue;
    if (first == count) {
      first = i;
    } else {
      push(w, s, {targets[i].pc, meet, targets[i].mask});
    }
  }
  if (first == count) {  // every side goes straight to the meeting point
    w.pc = w.reconverge = meet;
    return;
  }
  w.pc = targets[first].pc;
  w.reconverge = meet;
  w.active = targets[first].mask;
}

void branch_indexed(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  const u32* index = w.at<u32>(s.o[0]);
  std::vector<StackEntry> targets;
  const auto add = [&](u32 pc, u32 lanes) {
    for (StackEntry& t : targets) {
      if (t.pc == pc) {
        t.mask |= lanes;
        return;
      }
    }
    targets.push_back({pc, 0, lanes});
  };
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (index[lane] >= s.offset) {
      fault(w, s, lane, "run.trap",
            fmt::format("brx.idx with index {} in a list of {}", index[lane], s.offset));
      return;
    }
    add(s.list[index[lane]], 1u << lane);
  }
  if (const u32 rest = w.active & ~w.mask; rest != 0) add(w.pc, rest);
  if (targets.size() == 1) {
    w.pc = targets[0].pc;
    return;
  }
  split(w, s, targets.data(), targets.size(), w.code->reconverge[s.instruction]);
}

void leave_lanes(Warp& w, u32 lanes) {
  w.exited |= lanes;
  w.live &= ~lanes;
  w.block->exited_threads += static_cast<u32>(__builtin_popcount(lanes));
}

// ret: the lanes go to the end of the function.
void run_return(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  const auto end = static_cast<u32>(w.code->steps.size() - 1);
  if (w.depth == 0) leave_lanes(w, w.mask);
  if (w.mask == w.active) {
    w.pc = end;
    return;
  }
  const StackEntry targets[] = {{w.pc, 0, w.active & ~w.mask}, {end, 0, w.mask}};
  split(w, s, targets, 2, w.code->reconverge[s.instruction]);
}

void run_exit(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  if (w.depth == 0) return run_return(l, s);
  leave_lanes(w, w.mask);
  w.active &= ~w.mask;
  if (w.active == 0) w.pc = w.reconverge;  // the loop takes the next entry
}

void run_trap(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask != 0) fault(w, s, first_lane(w.mask), "run.trap", "the kernel executed trap");
}

void barrier_failed(Warp& w, const Step& s, const std::string& why) {
  fault(w, s, first_lane(w.live == 0 ? 1 : w.live), "run.divergence", why);
}

void release(Block& block, Barrier& barrier) {
  for (Warp* waiting : barrier.waiting) {
    acquire_from(*waiting, barrier.released);
    waiting->heard = waiting->clock;  // nothing was read since the arrival
    waiting->state = WarpState::ready;
    if (waiting->barrier_reduce == 0) continue;
    const u32 yes = barrier.true_count, all = barrier.seen;
    const u32 kind = waiting->barrier_reduce;
    if (kind == 1) {
      u32* d = waiting->at<u32>(waiting->barrier_result);
      for (u32 i = 0; i < 32; ++i) d[i] = ((waiting->active >> i) & 1) != 0 ? yes : d[i];
    } else {
      const bool value = kind == 2 ? yes == all : yes != 0;
      u32& p = waiting->predicate(waiting->barrier_result);
      p = value ? p | waiting->active : p & ~waiting->active;
    }
  }
  if (barrier.expected == 0 && block.exited_threads == 0) forget_readers(block);
  barrier = Barrier{};
  settle_suspect(block);
}

// Bits of Step::aux: which reduction; bar without a count, as __syncthreads() is compiled to, which
// CUDA lets no part of a block meet at another place of the code, though PTX does.
constexpr u32 reductions = 3u << 2, of_language = 1u << 4;

// o[0] number, o[1] thread count (aux bit 0: given), aux bit 1: arrive only, bits 2-3 reduction,
// o[2] its result, o[3] its predicate.
void run_barrier(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Block& block = *w.block;
  if (w.mask == 0) return;
  if (w.mask != w.live) {
    if (w.mask != w.active || !let_others_run(w, w.pc - 1, true))
      lanes_missing(w, s, "a barrier", w.live & ~w.mask);
    return;
  }
  const u32 lane = first_lane(w.mask);
  const u32 id = w.at<u32>(s.o[0])[lane];
  if (id >= 16) return barrier_failed(w, s, fmt::format("there is no barrier {}", id));
  Barrier& barrier = block.barriers[id];
  const bool given = (s.aux & 1) != 0, arrive_only = (s.aux & 2) != 0;
  const u32 expected = given ? w.at<u32>(s.o[1])[lane] : 0;
  if (given && (expected == 0 || expected % 32 != 0 || expected > block.launch->warps * 32)) {
    return barrier_failed(w, s, fmt::format("barrier {} with a count of {} threads", id, expected));
  }
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.step = &s;
  } else if (barrier.expected != expected) {
    return barrier_failed(w, s,
                          fmt::format("warps meet at barrier {} with counts {} and {}", id,
                                      barrier.expected, expected));
  } else if (barrier.step != &s && id == 0 && ((barrier.step->aux | s.aux) & of_language) != 0) {
    return barrier_failed(
        w, s, fmt::format("warps meet at barrier {} from different places of the code", id));
  } else if (((barrier.step->aux ^ s.aux) & reductions) != 0) {
    return barrier_failed(
        w, s,
        fmt::format("warps meet at barrier {} of which some reduce otherwise than others", id));
  }
  count_up(w, Counter::barriers, 1);
  barrier.arrived += given ? 32 : static_cast<u32>(__builtin_popcount(w.live));
  warp_ordered(w);
  drain_reads(w);
  release_to(w, barrier.released);
  w.barrier_reduce = static_cast<std::uint8_t>((s.aux >> 2) & 3);
  w.barrier = id;
  if (w.barrier_reduce != 0) {
    w.barrier_result = s.o[2];
    const u32 p = w.predicate(s.o[3]) ^ ((s.flags & 1) != 0 ? full_mask : 0);
    barrier.true_count += static_cast<u32>(__builtin_popcount(p & w.mask));
    barrier.seen += static_cast<u32>(__builtin_popcount(w.mask));
  }
  if (!arrive_only) {
    w.state = WarpState::waiting;
    w.stop = true;
    barrier.waiting.push_back(&w);
  }
  settle_barrier(block, id);
}

void warp_barrier(Lanes& l, const Step& s) {
  for_each_group(static_cast<Warp&>(l), s, s.o[0], [](Warp& w, const Step&) { lanes_ordered(w); });
}

bool decode_barrier(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.has("cluster") || form.modifiers.empty()) return false;
  if (form.has("warp")) {
    d.want_operands(1, 1);
    const Operand& members = d.operand(0);
    if (members.kind != OperandKind::immediate || static_cast<u32>(members.bits) != full_mask)
      d.program.lanes_in_part = true;
    step.o[0] = d.source(members, 4);
    step.run = warp_barrier;
    return true;
  }
  const bool reduce = form.has("red"), arrive = form.has("arrive");
  if (!reduce && !arrive && !form.has("sync")) return false;
  std::size_t next = 0;
  if (reduce) {
    const u32 kind = form.has("popc") ? 1 : form.has("and") ? 2 : form.has("or") ? 3 : 0;
    if (kind == 0) return false;
    step.aux |= kind << 2;
    step.o[2] = kind == 1 ? d.target(d.operand(next++), 4) : d.target_predicate(d.operand(next++));
    if (step.o[2] == no_slot || (kind != 1 && step.o[2] == 0))
      d.refuse("the result cannot be left out");
  }
  d.want_operands(next + 1, next + 3);
  step.o[0] = d.source(d.operand(next++), 4);
  if (reduce) {
    bool inverted = false;
    const Operand& p = d.operand(d.operand_count() - 1);
    step.o[3] = d.source_predicate(p, inverted);
    step.flags = inverted ? 1 : 0;
  }
  const std::size_t counts_end = d.operand_count() - (reduce ? 1 : 0);
  if (next < counts_end) {
    step.o[1] = d.source(d.operand(next), 4);
    step.aux |= 1;
    d.program.meets_in_part = true;
  } else if (arrive) {
    d.refuse("needs a thread count");
  }
  if (arrive) step.aux |= 2;
  if ((step.aux & 1) == 0 && form.opcode == Opcode::op_bar) step.aux |= of_language;
  step.run = run_barrier;
  return true;
}

}  // namespace

namespace {

void note_round(Warp& w, std::int64_t loop) {
  std::uint8_t& rounds = w.rounds[static_cast<std::size_t>(loop - 1)];
  if (rounds == most_rounds) return;
  ++rounds;
  std::uint8_t& most = w.block->worker->rounds[static_cast<std::size_t>(loop - 1)];
  most = std::max(most, rounds);
}

}  // namespace

void run_branch(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (s.offset > 0 && w.mask != 0) note_round(w, s.offset);
  if (s.offset < 0) {
    if (w.mask != 0) note_round(w, -s.offset);
    if (w.mask != w.active) note_round(w, 1 - s.offset);
  }
  if (w.mask == w.active) {
    w.pc = s.aux;
    return;
  }
  if (w.mask == 0) return;
  const StackEntry targets[] = {{w.pc, 0, w.active & ~w.mask}, {s.aux, 0, w.mask}};
  split(w, s, targets, 2, w.code->reconverge[s.instruction]);
}

namespace {

const Instruction& instruction_at(const Warp& w, const Step& s) {
  return w.block->program->module->functions[w.code->function].instructions[s.instruction];
}

Opcode opcode_of(const Warp& w, const Step& s) {
  return w.block->program->module->form(instruction_at(w, s)).opcode;
}

// True if lanes there do nothing but end.
bool leaves_at(const Warp& w, u32 pc) {
  const Step& s = w.steps[pc];
  if (pc + 1 >= w.code->steps.size() || s.guard != 0) return false;
  return opcode_of(w, s) == Opcode::op_ret || opcode_of(w, s) == Opcode::op_exit;
}

// Lanes that were parked before the same instruction join those that come to it now.
bool join_parked(Warp& w, u32 pc) {
  for (std::size_t i = w.frames[w.depth].stack_base; i < w.stack.size(); ++i) {
    const StackEntry entry = w.stack[i];
    if (!entry.parked || entry.pc != pc || entry.reconverge != w.reconverge) continue;
    w.stack.erase(w.stack.begin() + static_cast<std::ptrdiff_t>(i));
    w.active |= entry.mask & ~w.exited;
    w.pc = pc;
    return true;
  }
  return false;
}

// The instruction did not run after all.
void uncount(Warp& w, u32 pc) {
  StepCount& count = w.counts[pc];
  --count.warps;
  count.missing -= 32 - static_cast<u32>(__builtin_popcount(w.mask));
}

}  // namespace

bool let_others_run(Warp& w, u32 pc, bool parked) {
  if (parked && join_parked(w, pc)) {
    uncount(w, pc);
    return true;
  }
  struct Others {
    std::size_t entry = 0;
    u32 lanes = 0;
    bool meet = false;  // the executing lanes come there too
  };
  Others next;
  u32 above = w.active;
  for (std::size_t i = w.stack.size(); i-- > w.frames[w.depth].stack_base;) {
    const StackEntry& entry = w.stack[i];
    const Others here = {i, entry.mask & ~above & w.live, (entry.mask & above) != 0};
    above |= entry.mask;
    if (here.lanes == 0 || entry.parked) continue;
    // CUDA has lanes that go on where the branch ends come too, those that end aside.
    if (parked && here.meet && !leaves_at(w, entry.pc)) continue;
    next = here;
    // Lanes that ask give way to those that have stood longest: all have their turn.
    if (parked) break;
  }
  if (next.lanes == 0) return false;
  StackEntry& entry = w.stack[next.entry];
  const StackEntry taken{entry.pc, entry.reconverge, next.lanes};
  if (next.meet) {
    entry.mask &= ~next.lanes;
  } else {
    w.stack.erase(w.stack.begin() + static_cast<std::ptrdiff_t>(next.entry));
  }
  push(w, w.steps[w.pc - 1], {pc, w.reconverge, w.active, parked});
  if (parked) uncount(w, pc);
  w.pc = taken.pc;
  w.reconverge = taken.reconverge;
  w.active = taken.mask;
  return true;
}

void part_lanes(Warp& w, const Step& s) {
  if (!w.branched || w.mask != w.active || __builtin_popcount(w.mask) < 2 || !last_side_first(w))
    return;
  const u32 first = w.mask & 0x55555555u;
  if (first == 0 || first == w.mask) return;
  push(w, s, {w.pc - 1, w.reconverge, w.mask & ~first});
  w.active = w.mask = first;
}

// The lanes that were parked first tell the cause.
void lanes_missing(Warp& w, const Step& s, const char* what, u32 missing) {
  const auto first =
      std::find_if(w.stack.begin() + static_cast<std::ptrdiff_t>(w.frames[w.depth].stack_base),
                   w.stack.end(), [](const StackEntry& entry) { return entry.parked; });
  if (first == w.stack.end()) {
    return barrier_failed(
        w, s,
        fmt::format("{} is reached by lanes 0x{:08x} of warp {} but not by lanes 0x{:08x}", what,
                    w.mask, w.index, missing));
  }
  const Step& there = w.steps[first->pc];
  const Form& form = w.block->program->module->form(instruction_at(w, there));
  const bool barrier =
      form.opcode == Opcode::op_barrier || (form.opcode == Opcode::op_bar && !form.has("warp"));
  fault(w, there, first_lane(first->mask), "run.divergence",
        fmt::format("{} is reached by lanes 0x{:08x} of warp {} but not by lanes 0x{:08x}, which "
                    "wait at ptx line {} for these",
                    barrier ? "a barrier" : "a .sync instruction", first->mask, w.index, w.active,
                    instruction_at(w, s).line));
}

void give_way_when_asking(Warp& w, const Step& s) {
  constexpr u32 lanes_after = 64;  // lanes of a warp mostly need not part
  w.asked_again = w.asked == &s ? w.asked_again + 1 : 0;
  w.asked = &s;
  if (w.asked_again == 0) return;
  w.stop = w.gave_way = true;
  if (w.asked_again % lanes_after == 0 && w.mask == w.active) let_others_run(w, w.pc, false);
}

// Lanes that reach the end are taken up by the loop before this runs, since every path there meets
// its post-dominator.
void run_leave(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  --w.pc;
  fault(w, s, first_lane(w.active), "run.unsupported", "the control flow cannot be followed");
}

void settle_barrier(Block& block, std::uint32_t id) {
  Barrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) return;
  const u32 wanted =
      barrier.expected != 0 ? barrier.expected : block.thread_count - block.exited_threads;
  if (barrier.arrived >= wanted) release(block, barrier);
}

namespace {

// Numbers a branch back, or the two sides of a guarded branch forward, the taken one first.
void note_branch(Decoder& d, Step& step) {
  std::vector<LoopBranch>& loops = d.program.loops;
  const auto here = static_cast<u32>(d.code.steps.size());
  const auto next = static_cast<std::int64_t>(loops.size()) + 1;
  if (step.aux <= here) {
    loops.push_back({d.code.function, here, step.aux});
    step.offset = next;
  } else if (d.instruction().guard != none_index) {
    loops.push_back({d.code.function, here, step.aux});
    loops.push_back({d.code.function, here, here + 1});
    step.offset = -next;
  }
}

}  // namespace

bool decode_control(Decoder& d, Step& step) {
  switch (d.form().opcode) {
    case Opcode::op_bra:
      d.want_operands(1, 1);
      if (d.operand(0).kind != OperandKind::label) d.refuse("the target is no label");
      step.aux = d.operand(0).index;
      note_branch(d, step);
      step.run = run_branch;
      return true;
    case Opcode::op_brx: {
      d.want_operands(2, 2);
      if (d.operand(1).kind != OperandKind::table) d.refuse("needs a list of targets");
      const Table& table = d.function.tables[d.operand(1).index];
      if (!table.is_branch || table.targets.empty()) d.refuse("needs a list of targets");
      step.o[0] = d.source(d.operand(0), 4);
      step.list = d.list(table.targets);
      step.offset = static_cast<std::int64_t>(table.targets.size());
      step.run = branch_indexed;
      return true;
    }
    case Opcode::op_call:
      return decode_call(d, step);
    case Opcode::op_alloca:
    case Opcode::op_stacksave:
    case Opcode::op_stackrestore:
      return decode_stack(d, step);
    case Opcode::op_ret:
      step.run = run_return;
      return true;
    case Opcode::op_exit:
      step.run = run_exit;
      return true;
    case Opcode::op_trap:
    case Opcode::op_brkpt:
      step.run = run_trap;
      return true;
    case Opcode::op_bar:
    case Opcode::op_barrier:
      return decode_barrier(d, step);
    default:
      return false;
  }
}

}  // namespace cupilot::ptx
