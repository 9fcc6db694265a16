// Shared memory as the asynchronous proxy and other blocks of a cluster reach it: the same shadow,
// asked by those whom the block's own clocks do not name.
#include <cstring>

#include <fmt/format.h>

#include "ptx/machine/cluster.hpp"
#include "ptx/machine/memory.hpp"
#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 strong_bit = 0x80000000u;

const Mark& mark_of(const Block& block, u32 stamp) {
  return block.cluster->marks[(stamp & ~strong_bit) - mark_base];
}

std::string thread_name(const Block& block, u32 thread) {
  const Dim3& b = block.launch->launch->block;
  return fmt::format("thread ({},{},{})", thread % b.x, thread / b.x % b.y, thread / (b.x * b.y));
}

std::string far_name(const Warp& warp, u32 packed) {
  std::string out = thread_name(*warp.block, packed & 1023);
  if (warp.block->cluster->blocks.size() > 1 && packed >> 10 != warp.block->rank)
    out += fmt::format(" of block {} of the cluster", packed >> 10);
  return out;
}

// A proxy fence lies between the write and what the warp does next.
bool write_proxied(const Warp& w, const Block& target, u32 stamp) {
  const u32 s = stamp & ~strong_bit;
  if (is_mark(s)) {
    const Mark& mark = mark_of(target, s);
    return !mark.far ||
           (mark.slot < w.beyond.proxied.size() && mark.phase < w.beyond.proxied[mark.slot]);
  }
  const u32 clock = stamp_clock(s);
  const bool own = target.rank == w.block->rank && ((s >> 5) & 31) == w.index;
  if (own && clock >= w.unfenced.from && clock < w.unfenced.to &&
      ((w.unfenced.lanes >> (s & 31)) & 1) != 0)
    return false;
  const u32 index = 32 * target.rank + ((s >> 5) & 31);
  return index < w.beyond.proxied.size() && clock < w.beyond.proxied[index];
}

// True if all reads of a stamp (no mark) of the target's shared memory lie before these clocks of
// its warps.
bool reads_before(const Block& target, u32 stamp, const u32* clocks) {
  if (read_who(stamp) != read_by_set) return read_clock(stamp) < clocks[read_warp(stamp)];
  const ReaderSets& sets = target.readers;
  if (stamp >> 6 < sets.first) return true;
  const std::array<u32, 32>& read = sets.clocks[(stamp >> 6) - sets.first];
  for (u32 i = 0; i < 32; ++i) {
    if (read[i] >> 6 >= clocks[i]) return false;
  }
  return true;
}

// True if reads by threads are over for the asynchronous proxy too. An mbarrier does not say so: a
// warp arrives while loads that it issued are still on their way, and a copy issued upon the
// arrival overtakes them. PTX wants a proxy fence between; barriers of warps wait for loads.
bool read_drained(const Warp& w, const Block& target, u32 stamp) {
  const std::vector<u32>& drained = w.beyond.drained;
  if (stamp == 0 || drained.empty()) return true;
  if ((stamp & read_mark) == 0)
    return reads_before(target, stamp, drained.data() + 32 * target.rank);
  const Mark& mark = target.cluster->marks[stamp & ~read_mark];
  return !mark.far || mark.phase < drained[mark.slot];
}

// True if the lane made a write, or its warp another lane's that it knows of.
bool write_known(const Warp& w, u32 lane, const Block& target, u32 stamp) {
  if (is_mark(stamp) || stamp_clock(stamp) > clock_max || target.rank != w.block->rank)
    return false;
  return (stamp & 1023) == w.index * 32 + lane || lane_knows_write(w, lane, stamp);
}

bool race(Warp& w, const Step& s, u32 lane, std::string message) {
  fault(w, s, lane, "run.race", std::move(message));
  return false;
}

// Names a relaxed arrival behind a write or a read, besides.
bool write_race(Warp& w, const Step& s, u32 lane, const Block& target, u32 stamp,
                std::string message) {
  message += relaxed_cause(w, [&] { return write_ordered(w, target, stamp); });
  return race(w, s, lane, std::move(message));
}
bool read_race(Warp& w, const Step& s, u32 lane, const Block& target, u32 stamp,
               std::string message) {
  message += relaxed_cause(w, [&] { return read_ordered(w, lane, target, stamp); });
  return race(w, s, lane, std::move(message));
}

// Names the reader of reads that are in order but for the asynchronous proxy.
std::string loader_name(const Warp& w, const Block& target, u32 stamp) {
  if ((stamp & read_mark) != 0)
    return far_name(w, target.cluster->marks[stamp & ~read_mark].thread);
  return read_who(stamp) == read_by_set ? "several warps"
                                        : fmt::format("warp {}", read_warp(stamp));
}

bool async_reads_cell(Warp& w, const Step& s, u32 lane, const Block& target, u32 offset,
                      u32 stamp) {
  const ExecuteOptions& options = *w.block->launch->options;
  if (stamp == stamp_gap) return past_variable(w, s, lane, target, offset);
  if (stamp == stamp_never) {
    if (options.check_initialised) suspect_read(w, s, lane, target, offset);
    return true;
  }
  if (!options.check_races) return true;
  if (!write_known(w, lane, target, stamp) && !write_ordered(w, target, stamp)) {
    return write_race(w, s, lane, target, stamp,
                      fmt::format("has the asynchronous proxy read {} while {}",
                                  place_name(target, offset), writer_name(w, target, stamp)));
  }
  if (write_proxied(w, target, stamp)) return true;
  return race(
      w, s, lane,
      fmt::format(
          "has the asynchronous proxy read {} that {} wrote without fence.proxy.async between",
          place_name(target, offset),
          far_name(w, is_mark(stamp) ? mark_of(target, stamp).thread
                                     : (target.rank << 10) | (stamp & 1023))));
}

// A thread of another block reads or writes a cell.
bool far_cell(Warp& w, const Step& s, u32 lane, Block& target, u32 cell, Intent intent, bool strong,
              u32 mark) {
  const ExecuteOptions& options = *w.block->launch->options;
  const u32 stamp = target.writer[cell], offset = cell << target.program->shadow_shift;
  const bool alike = strong && (stamp & strong_bit) != 0;
  if (stamp == stamp_gap) return past_variable(w, s, lane, target, offset);
  if (stamp == stamp_never) {
    if (intent != Intent::store && options.check_initialised)
      suspect_read(w, s, lane, target, offset);
  } else if (options.check_races && !alike && !write_ordered(w, target, stamp)) {
    return write_race(
        w, s, lane, target, stamp,
        fmt::format("{} {} of block {} of the cluster while {}",
                    intent == Intent::load ? "reads" : "writes", place_name(target, offset),
                    target.rank, writer_name(w, target, stamp)));
  }
  if (intent == Intent::load) {
    target.reader[cell] = read_mark | mark;
    return true;
  }
  if (options.check_races && !alike && !read_ordered(w, lane, target, target.reader[cell])) {
    return read_race(w, s, lane, target, target.reader[cell],
                     fmt::format("writes {} of block {} of the cluster that {} may still read",
                                 place_name(target, offset), target.rank,
                                 reader_name(w, target, target.reader[cell])));
  }
  target.writer[cell] = (mark_base + mark) | (strong ? strong_bit : 0);
  return true;
}

}  // namespace

bool is_mark(u32 stamp) {
  const u32 s = stamp & ~strong_bit;
  return s >= mark_base && s < mark_end;
}

bool write_ordered(const Warp& w, const Block& target, u32 stamp) {
  const u32 s = stamp & ~strong_bit;
  if (is_mark(s)) return mark_ordered(w, mark_of(target, s));
  if (s == stamp_never) return true;
  const u32 clock = stamp_clock(s), warp = (s >> 5) & 31;
  if (target.rank == w.block->rank) return clock < w.known[warp] && !doubted(w, s);
  return 32 * target.rank + warp < w.beyond.far.size() &&
         clock < w.beyond.far[32 * target.rank + warp];
}

bool read_ordered(const Warp& w, u32 lane, const Block& target, u32 stamp) {
  if ((stamp & read_mark) != 0) return mark_ordered(w, target.cluster->marks[stamp & ~read_mark]);
  if (target.rank == w.block->rank) return after_reads(w, lane, stamp, false);
  if (stamp == 0 || w.beyond.far.empty()) return stamp == 0;
  return reads_before(target, stamp, w.beyond.far.data() + 32 * target.rank);
}

std::string writer_name(const Warp& w, const Block& target, u32 stamp) {
  if ((stamp & ~strong_bit) == stamp_barrier) return "it holds an mbarrier";
  if (!is_mark(stamp)) {
    if (stamp_clock(stamp) == clock_pending)
      return fmt::format("the asynchronous copy issued by {} has not been waited for",
                         far_name(w, (target.rank << 10) | (stamp & 1023)));
    return fmt::format("the write of {} is not ordered before by a barrier",
                       far_name(w, (target.rank << 10) | (stamp & 1023)));
  }
  const Mark& mark = mark_of(target, stamp);
  if (mark.far)
    return fmt::format("the write of {} is not ordered before by a barrier",
                       far_name(w, mark.thread));
  return fmt::format("the asynchronous copy issued by {} has not been waited for",
                     far_name(w, mark.thread));
}

std::string reader_name(const Warp& w, const Block& target, u32 stamp) {
  if (read_who(stamp) == read_by_set && (stamp & read_mark) == 0)
    return "several warps (no barrier between)";
  if ((stamp & read_mark) == 0)
    return fmt::format("warp {} (no barrier between)", read_warp(stamp));
  const Mark& mark = target.cluster->marks[stamp & ~read_mark];
  if (mark.far) return far_name(w, mark.thread) + " (no barrier between)";
  return fmt::format("the asynchronous copy or product issued by {} (it has not been waited for)",
                     far_name(w, mark.thread));
}

bool check_async_read(Warp& w, const Step& s, u32 lane, Block& target, u32 offset, u32 bytes,
                      u32 mark) {
  if (target.writer.empty()) return true;
  const AsLane as(w, lane);
  const u32 shift = target.program->shadow_shift;
  u32 last = target.writer[offset >> shift] ^ 1;
  for (u32 c = offset >> shift; c < (offset + bytes + (1u << shift) - 1) >> shift; ++c) {
    const u32 stamp = target.writer[c];
    // Neighbours were mostly written together.
    if (stamp != last && !async_reads_cell(w, s, lane, target, c << shift, stamp)) return false;
    last = stamp;
    target.reader[c] = read_mark | mark;
  }
  return true;
}

bool check_async_write(Warp& w, const Step& s, u32 lane, Block& target, u32 offset, u32 bytes,
                       u32 mark) {
  if (target.writer.empty()) return true;
  const AsLane as(w, lane);
  const u32 shift = target.program->shadow_shift;
  const bool check = w.block->launch->options->check_races;
  for (u32 c = offset >> shift; c < (offset + bytes) >> shift; ++c) {
    const u32 stamp = target.writer[c], reader = target.reader[c];
    if (stamp == stamp_gap) return past_variable(w, s, lane, target, c << shift);
    if (check && !write_known(w, lane, target, stamp) && !write_ordered(w, target, stamp)) {
      return write_race(w, s, lane, target, stamp,
                        fmt::format("has an asynchronous copy write {} while {}",
                                    place_name(target, c << shift), writer_name(w, target, stamp)));
    }
    const bool read_known = target.rank == w.block->rank && lane_knows_reads(w, lane, c);
    if (check && reader != 0 && !read_known && !read_ordered(w, lane, target, reader)) {
      return read_race(w, s, lane, target, reader,
                       fmt::format("has an asynchronous copy write {} that {} may still read",
                                   place_name(target, c << shift), reader_name(w, target, reader)));
    }
    if (check && !read_drained(w, target, reader)) {
      return race(w, s, lane,
                  fmt::format("has an asynchronous copy write {} while loads of {} may be on their "
                              "way: an mbarrier does not wait "
                              "for them, fence.proxy.async before the arrival does",
                              place_name(target, c << shift), loader_name(w, target, reader)));
    }
    target.writer[c] = mark_base + mark;
  }
  return true;
}

u32 far_mark(Warp& w) {
  const u32 clock = w.clock;
  if (w.far_clock != clock || w.far_mark == 0) {
    w.far_clock = clock;
    w.far_mark = add_mark(*w.block->cluster, {.far = true,
                                              .slot = 32 * w.block->rank + w.index,
                                              .phase = clock,
                                              .thread = (w.block->rank << 10) | (w.index * 32)});
  }
  return w.far_mark;
}

bool shared_place(Warp& w, const Step& s, u32 lane, u64 address, std::uint8_t space, u64 bytes,
                  u32 align, bool far_allowed, SharedPlace& out) {
  const auto no = [&](const char* code, std::string message) {
    fault(w, s, lane, code, std::move(message));
    return false;
  };
  if (space == space_generic) {
    if ((address & window_mask) != shared_window)
      return no("run.out_of_bounds",
                fmt::format("address 0x{:x} is not in shared memory", address));
    address &= ~window_mask;
  }
  const Cluster& cluster = *w.block->cluster;
  const u64 rank = address >> rank_shift;
  if (rank > cluster.blocks.size())
    return no("run.out_of_bounds",
              fmt::format("shared address 0x{:x} names no block of the cluster", address));
  out.block = rank == 0 ? w.block : cluster.blocks[rank - 1].get();
  const u64 inner = address & ((1u << rank_shift) - 1);
  if (out.block != w.block && !far_allowed)
    return no(
        "run.out_of_bounds",
        fmt::format(
            "address 0x{:x} lies in another block's shared memory, the instruction wants its own",
            address));
  if (inner % align != 0)
    return no("run.misaligned",
              fmt::format("shared address 0x{:x} is not aligned to {} bytes", address, align));
  if (inner < shared_base || inner - shared_base + bytes > w.block->launch->shared_bytes) {
    return no("run.out_of_bounds",
              fmt::format("{} bytes at shared address 0x{:x} (offset {}), but the block has {} "
                          "bytes of shared memory",
                          bytes, address, static_cast<std::int64_t>(inner) - shared_base,
                          w.block->launch->device_shared));
  }
  out.offset = static_cast<u32>(inner - shared_base);
  if (out.block != w.block) {
    if (out.block->finished)
      return no("run.race",
                fmt::format("uses shared memory of block {} of the cluster, which has ended",
                            out.block->rank));
    if (cluster.barrier.phase == 0 && w.block->launch->options->check_races)
      return no("run.race",
                fmt::format("uses shared memory of block {} of the cluster, which may not have "
                            "begun: no barrier of the cluster stands before",
                            out.block->rank));
    note_far(w, *out.block);
  }
  return true;
}

bool resolve_far(Warp& w, const Step& s, u32 mask, const LaneAddresses& addresses, u32 bytes,
                 Intent intent, LanePointers& out) {
  const bool strong = intent == Intent::atomic || (s.flags & flag_strong) != 0;
  w.touched |= mask;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    SharedPlace at;
    if (!shared_place(w, s, lane, addresses.at[lane], space_shared, bytes, bytes, true, at))
      return false;
    out.at[lane] = at.block->shared.data() + at.offset;
    if (at.block->writer.empty()) continue;
    const AsLane as(w, lane);
    if (at.block == w.block) {
      if (intent != Intent::store && !check_shared_read(w, s, lane, at.offset, bytes, strong))
        return false;
      if (intent == Intent::load) continue;
      if (!check_shared_write(w, s, lane, at.offset, bytes, strong)) return false;
      stamp_shared_write(w, lane, at.offset, bytes, strong);
      continue;
    }
    const u32 shift = at.block->program->shadow_shift, mark = far_mark(w);
    for (u32 c = at.offset >> shift; c < (at.offset + bytes) >> shift; ++c) {
      if (!far_cell(w, s, lane, *at.block, c, intent, strong, mark)) return false;
    }
  }
  return true;
}

}  // namespace cupilot::ptx
