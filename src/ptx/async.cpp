// cp.async: global to shared memory without registers. The bytes arrive at once, but count as pending until the issuing thread
// waits for their group; reading or writing them before is a race.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ptx/memory.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;

constexpr std::size_t max_open = 1u << 16, max_groups = 4096;

// o[0] destination, o[1] source (its own flags in aux bits 0-7), o[2] source size (aux bit 8) or ignore predicate (aux bit 9).
void copy_async(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  Block& block = *w.block;
  LaneAddresses to, from;
  LanePointers into, out;
  Step source = s;
  source.flags = static_cast<std::uint8_t>(s.aux & 0xff);
  source.offset = static_cast<std::int64_t>(s.list[0]) | (static_cast<std::int64_t>(s.list[1]) << 32);
  lane_addresses(w, s, s.o[0], to);
  lane_addresses(w, source, s.o[1], from);
  if ((s.flags & space_mask) == space_generic) {
    for (u32 i = 0; i < 32; ++i) to.at[i] &= ~window_mask;
  }
  if (!resolve_shared(w, s, w.mask, to, s.bytes, Intent::store, into)) return;
  u32 sizes[32], reading = 0;
  for (u32 i = 0; i < 32; ++i) {
    sizes[i] = s.bytes;
    if ((s.aux & 0x100) != 0) sizes[i] = std::min<u32>(w.at<u32>(s.o[2])[i], s.bytes);
    if ((s.aux & 0x200) != 0 && (((w.predicate(s.o[2]) ^ ((s.aux & 0x400) != 0 ? full_mask : 0)) >> i) & 1) != 0) sizes[i] = 0;
    if (((w.mask >> i) & 1) != 0 && sizes[i] != 0) reading |= 1u << i;
  }
  u32 whole = 0;
  for (u32 i = 0; i < 32; ++i) whole |= static_cast<u32>(((reading >> i) & 1) != 0 && sizes[i] == s.bytes) << i;
  // A shortened copy reads only its bytes, one by one for the sake of the checks. The whole ones go last: they leave the
  // step's remembered pattern in place.
  for (u32 rest = reading & ~whole; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (from.at[lane] % s.bytes != 0) {
      fault(w, s, lane, "run.misaligned", fmt::format("the source 0x{:x} is not aligned to {} bytes", from.at[lane], s.bytes));
      return;
    }
    std::uint8_t piece[16] = {};
    for (u32 b = 0; b < sizes[lane]; ++b) {
      LaneAddresses one = from;
      one.at[lane] += b;
      LanePointers at;
      if (!resolve(w, source, source.flags & space_mask, 1u << lane, one, 1, Intent::load, at)) return;
      piece[b] = *at.at[lane];
    }
    std::memcpy(into.at[lane], piece, s.bytes);
  }
  if (whole != 0 && !resolve(w, source, source.flags & space_mask, whole, from, s.bytes, Intent::load, out)) return;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (((whole >> lane) & 1) != 0) std::memcpy(into.at[lane], out.at[lane], s.bytes);
    if (sizes[lane] == 0) std::memset(into.at[lane], 0, s.bytes);
    count_up(w, Counter::async_copy_bytes, sizes[lane]);
    const auto offset = static_cast<u32>(to.at[lane] - shared_base);
    w.open_copies.push_back({lane, offset, s.bytes});
    if (w.open_copies.size() > max_open)
      return fault(w, s, lane, "run.unsupported", "too many asynchronous copies without a commit");
    if (block.writer.empty()) continue;
    const u32 shift = block.program->shadow_shift;
    const u32 stamp = (clock_pending << 10) | (w.index * 32 + lane);
    for (u32 c = offset >> shift; c < (offset + s.bytes) >> shift; ++c) block.writer[c] = stamp;
  }
}

void complete(Warp& w, const std::vector<AsyncCopy>& copies) {
  Block& block = *w.block;
  if (block.writer.empty()) return;
  const u32 shift = block.program->shadow_shift;
  for (const AsyncCopy& copy : copies) {
    const u32 thread = w.index * 32 + copy.lane;
    const u32 pending = (clock_pending << 10) | thread, stamp = (w.known[w.index] << 10) | thread;
    for (u32 c = copy.offset >> shift; c < (copy.offset + copy.bytes) >> shift; ++c) {
      if (block.writer[c] == pending) block.writer[c] = stamp;
    }
  }
}

void commit_group(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.groups.size() >= max_groups)
    return fault(w, s, 0, "run.unsupported", "too many groups of asynchronous copies without a wait");
  w.groups.push_back(std::move(w.open_copies));
  w.open_copies.clear();
}

void wait_group(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  while (w.groups.size() > s.aux) {
    complete(w, w.groups.front());
    w.groups.pop_front();
  }
}

void wait_all(Lanes& l, const Step&) {
  Warp& w = static_cast<Warp&>(l);
  for (const auto& group : w.groups) complete(w, group);
  w.groups.clear();
  complete(w, w.open_copies);
  w.open_copies.clear();
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
  step.run = copy_async;
  return true;
}

}  // namespace

bool decode_async(Decoder& d, Step& step) {
  const Form& form = d.form();
  if (form.opcode != Opcode::op_cp || form.modifiers.empty() || form.modifiers[0] != "async") return false;
  for (const char* later : {"bulk", "mbarrier", "reduce"}) {
    if (form.has(later)) return false;
  }
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
