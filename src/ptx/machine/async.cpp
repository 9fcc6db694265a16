// cp.async: global to shared memory without registers. The bytes count as pending until the issuing
// thread waits for their group; reading or writing them before is a race. They arrive at once, or
// (late mode) when they are waited for.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;

constexpr std::size_t max_open = 1u << 16, max_groups = 4096;

// o[0] destination, o[1] source (its own flags in aux bits 0-7), o[2] source size (aux bit 8) or
// ignore predicate (aux bit 9); aux bit 11: past the first level.
void copy_async(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Block& block = *w.block;
  LaneAddresses to, from;
  LanePointers into, out;
  Step source = s;
  source.flags = static_cast<std::uint8_t>(s.aux & 0xff);
  source.offset =
      static_cast<std::int64_t>(s.list[0]) | (static_cast<std::int64_t>(s.list[1]) << 32);
  lane_addresses(w, s, s.o[0], to);
  lane_addresses(w, source, s.o[1], from);
  if ((s.flags & space_mask) == space_generic) {
    for (u32 i = 0; i < 32; ++i) to.at[i] &= ~window_mask;
  }
  if (!resolve_shared(w, s, w.mask, to, s.bytes, Intent::store, into, CountBy::none)) return;
  u32 sizes[32], reading = 0, whole = 0;
  const std::uint8_t* starts[32] = {};
  for (u32 i = 0; i < 32; ++i) {
    sizes[i] = s.bytes;
    if ((s.aux & 0x100) != 0) sizes[i] = std::min<u32>(w.at<u32>(s.o[2])[i], s.bytes);
    if ((s.aux & 0x200) != 0 &&
        (((w.predicate(s.o[2]) ^ ((s.aux & 0x400) != 0 ? full_mask : 0)) >> i) & 1) != 0)
      sizes[i] = 0;
    if (((w.mask >> i) & 1) != 0 && sizes[i] != 0) reading |= 1u << i;
    whole |= (reading & 1u << i) & (sizes[i] == s.bytes ? full_mask : 0);
  }
  // A shortened copy reads only its bytes.
  for (u32 rest = reading & ~whole; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (from.at[lane] % s.bytes != 0) {
      fault(w, s, lane, "run.misaligned",
            fmt::format("the source 0x{:x} is not aligned to {} bytes", from.at[lane], s.bytes));
      return;
    }
    starts[lane] = global_span(w, source, lane, from.at[lane], sizes[lane], Intent::load);
    if (starts[lane] == nullptr) return;
  }
  if (whole != 0 && !resolve(w, source, source.flags & space_mask, whole, from, s.bytes,
                             Intent::load, out, CountBy::none))
    return;
  if (block.launch->options->count)
    count_copy(w, {from, to, sizes, w.mask, s.bytes, (s.aux & 0x800) != 0});
  const bool late = block.launch->options->late, watched = !block.writer.empty();
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const auto offset = static_cast<u32>(to.at[lane] - shared_base);
    const AsyncCopy copy{lane, offset, s.bytes, sizes[lane],
                         ((whole >> lane) & 1) != 0 ? out.at[lane] : starts[lane]};
    if (!late) move_copy(block, copy);
    if (!late && !watched) continue;  // it has arrived, and nobody asks when
    w.open_copies.push_back(copy);
    if (w.open_copies.size() > max_open)
      return fault(w, s, lane, "run.unsupported", "too many asynchronous copies without a commit");
    if (!watched) continue;
    const u32 shift = block.program->shadow_shift;
    const u32 stamp = (clock_pending << 10) | (w.index * 32 + lane);
    for (u32 c = offset >> shift; c < (offset + s.bytes) >> shift; ++c) block.writer[c] = stamp;
  }
}

void complete(Warp& w, const std::vector<AsyncCopy>& copies) {
  Block& block = *w.block;
  if (block.launch->options->late) {
    for (const AsyncCopy& copy : copies) move_copy(block, copy);
  }
  if (block.writer.empty()) return;
  const u32 shift = block.program->shadow_shift;
  for (const AsyncCopy& copy : copies) {
    const u32 thread = w.index * 32 + copy.lane;
    const u32 pending = (clock_pending << 10) | thread, stamp = (w.clock << 10) | thread;
    for (u32 c = copy.offset >> shift; c < (copy.offset + copy.bytes) >> shift; ++c) {
      if (block.writer[c] == pending) block.writer[c] = stamp;
    }
  }
}

// Takes the lanes' copies out, in their order.
std::vector<AsyncCopy> take_copies(std::vector<AsyncCopy>& from, u32 lanes) {
  const auto taken = std::stable_partition(
      from.begin(), from.end(), [&](const AsyncCopy& c) { return ((lanes >> c.lane) & 1) == 0; });
  std::vector<AsyncCopy> out(taken, from.end());
  from.erase(taken, from.end());
  return out;
}

void commit_group(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.groups.size() >= max_groups)
    return fault(w, s, 0, "run.unsupported",
                 "too many groups of asynchronous copies without a wait");
  if (w.mask != w.present) {
    w.groups.push_back({w.mask, take_copies(w.open_copies, w.mask)});
    return;
  }
  w.groups.push_back({w.mask, std::exchange(w.open_copies, std::exchange(w.spare_copies, {}))});
}

// Completes the executing lanes' copies in all groups of theirs but the last `open` of each lane.
void wait_by_lanes(Warp& w, u32 open) {
  u32 left[32] = {};
  for (const CopyGroup& group : w.groups) {
    for (u32 lane = 0; lane < 32; ++lane) left[lane] += (group.lanes >> lane) & 1;
  }
  for (CopyGroup& group : w.groups) {
    u32 done = 0;
    for (u32 rest = group.lanes & w.mask; rest != 0; rest &= rest - 1) {
      const u32 lane = first_lane(rest);
      done |= static_cast<u32>(left[lane]-- > open) << lane;
    }
    group.lanes &= ~done;
    complete(w, take_copies(group.copies, done));
  }
  std::erase_if(w.groups, [](const CopyGroup& group) { return group.lanes == 0; });
}

void wait_for(Warp& w, u32 open) {
  finish_copies(w);
  if (std::any_of(w.groups.begin(), w.groups.end(),
                  [&](const CopyGroup& group) { return group.lanes != w.mask; }))
    return wait_by_lanes(w, open);
  while (w.groups.size() > open) {
    complete(w, w.groups.front().copies);
    w.spare_copies = std::move(w.groups.front().copies);
    w.spare_copies.clear();
    w.groups.pop_front();
  }
}

void wait_group(Lanes& l, const Step& s) { wait_for(static_cast<Warp&>(l), s.aux); }

void wait_all(Lanes& l, const Step&) {
  Warp& w = static_cast<Warp&>(l);
  wait_for(w, 0);
  complete(w, take_copies(w.open_copies, w.mask));
}

// The copies of one thread that nothing waits for yet.
std::vector<AsyncCopy> copies_of(Warp& w, u32 lane) {
  std::vector<AsyncCopy> out;
  const auto take = [&](std::vector<AsyncCopy>& from) {
    const std::vector<AsyncCopy> mine = take_copies(from, 1u << lane);
    out.insert(out.end(), mine.begin(), mine.end());
  };
  for (CopyGroup& group : w.groups) take(group.copies);
  take(w.open_copies);
  return out;
}

// cp.async.mbarrier.arrive: an arrival once the thread's copies are done. list: place; aux 1:
// counted among those expected.
void arrive_after(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Cluster& cluster = *w.block->cluster;
  LaneAddresses a;
  place_addresses(w, s.list, a);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    SharedPlace at;
    if (!shared_place(w, s, lane, a.at[lane], place_space(s.list), 8, 8, false, at)) return;
    Mbarrier* b = mbarrier_at(w, s, lane, at);
    if (b == nullptr) return;
    if (s.aux == 0) ++b->pending;
    if (b->pending == 0)
      return fault(w, s, lane, "run.divergence",
                   "arrives at " + describe(cluster, *b) + ": more than it expects");
    Transfer t;
    t.way = Way::arrive;
    t.warp = &w;
    t.lane = lane;
    t.copies = copies_of(w, lane);
    const u32 mark = add_mark(cluster, {.slot = b->slot,
                                        .phase = phase_open,
                                        .thread = (w.block->rank << 10) | (w.index * 32 + lane)});
    t.to.push_back({w.block, 0, b, mark});
    start_transfer(cluster, std::move(t));
  }
}

bool decode_arrive_after(Decoder& d, Step& step) {
  d.want_operands(1, 1);
  d.program.async = true;
  std::vector<u32> list;
  add_place(d, list, d.operand(0), d.memory_space());
  step.list = d.list(std::move(list));
  step.aux = d.form().has("noinc") ? 1 : 0;
  step.run = arrive_after;
  return true;
}

bool decode_copy(Decoder& d, Step& step) {
  const Form& form = d.form();
  const bool policy = form.has("L2::cache_hint");
  d.want_operands(3, policy ? 5 : 4);
  const Operand& size = d.operand(2);
  if (size.kind != OperandKind::immediate || (size.bits != 4 && size.bits != 8 && size.bits != 16))
    d.refuse("copies 4, 8 or 16 bytes");
  if (form.has("cg") && size.bits != 16) d.refuse("with .cg copies 16 bytes");
  step.bytes = static_cast<std::uint8_t>(size.bits);
  d.address(step, d.operand(1), space_global, 1);
  step.aux = step.flags;
  const auto offset = static_cast<std::uint64_t>(step.offset);
  step.list = d.list({static_cast<u32>(offset), static_cast<u32>(offset >> 32)});
  step.flags = 0;
  d.address(step, d.operand(0), space_shared, 0);
  const std::size_t extra = d.operand_count() - 3 - (policy ? 1 : 0);
  if (extra == 1) {
    const Operand& o = d.operand(3);
    if (o.kind == OperandKind::reg && o.type == Type::pred) {
      bool inverted = false;
      step.o[2] = d.source_predicate(o, inverted);
      step.aux |= inverted ? 0x600 : 0x200;
    } else {
      step.o[2] = d.source(o, 4);
      step.aux |= 0x100;
    }
  }
  if (form.has("cg")) step.aux |= 0x800;
  step.run = copy_async;
  return true;
}

}  // namespace

bool decode_async(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_cp || form.modifiers.empty() || form.modifiers[0] != "async")
    return false;
  if (form.has("bulk")) return false;
  if (form.has("mbarrier")) return form.has("arrive") && decode_arrive_after(d, step);
  if (form.has("commit_group")) {
    step.run = commit_group;
    return true;
  }
  if (form.has("wait_group")) {
    d.want_operands(1, 1);
    if (d.operand(0).kind != OperandKind::immediate) d.refuse("needs a number");
    step.aux = static_cast<u32>(std::min<std::uint64_t>(d.operand(0).bits, 1u << 20));
    step.run = wait_group;
    return true;
  }
  if (form.has("wait_all")) {
    step.run = wait_all;
    return true;
  }
  if (!form.has("shared") && !form.has("shared::cta")) return false;
  return decode_copy(d, step);
}

}  // namespace cupilot::ptx
