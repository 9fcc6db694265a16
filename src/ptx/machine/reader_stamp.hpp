// The stamp of the reads of a cell of shared memory since it was last written: by one lane, by
// several lanes of a warp, or by several warps. Internal.
//
// Bit 31 set: bits 0..30 are a mark of the cluster. Else bits 11..30 hold a clock, bits 6..10 a
// warp, bits 0..5 who of it read: a lane, or one of the values below. A set's number takes the
// place of clock and warp. Where there are no sets, a stamp of several warps names the one that
// read last: a writer of another warp must know of that one at least, and one of the same warp must
// have heard of others since. With no barriers but those of whole blocks that misses none.
#pragma once

#include <cstdint>

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

inline constexpr std::uint32_t read_by_lanes = 32;  // several of the warp
inline constexpr std::uint32_t read_by_warps =
    33;  // the warp named, and others that it knew nothing of
inline constexpr std::uint32_t read_strongly = 34;  // nothing but volatile or relaxed reads
inline constexpr std::uint32_t read_by_set = 35;    // of warps, in Block::readers
inline constexpr std::uint32_t read_mark = 1u << 31;

inline std::uint32_t read_clock(std::uint32_t stamp) { return stamp >> 11; }
inline std::uint32_t read_warp(std::uint32_t stamp) { return (stamp >> 6) & 31; }
inline std::uint32_t read_who(std::uint32_t stamp) { return stamp & 63; }

// Returns the stamp of a read by this warp now, to which `who` is to be added.
inline std::uint32_t read_base(const Warp& warp) { return (warp.clock << 11) | (warp.index << 6); }

// True if a write with a writer's stamp, or reads by `who` of a warp, are in doubt though a later
// clock is known.
inline bool doubted(const Warp& warp, std::uint32_t reader, std::uint32_t clock,
                    std::uint32_t who) {
  if (warp.doubts.empty()) return false;
  const Doubt& d = warp.doubts[reader];
  if (clock < d.from || clock >= d.to) return false;
  return who < 32 ? ((d.lanes >> who) & 1) != 0 : who == read_by_lanes && d.one;
}
inline bool doubted(const Warp& warp, std::uint32_t writer_stamp) {
  return doubted(warp, (writer_stamp >> 5) & 31, stamp_clock(writer_stamp), writer_stamp & 31);
}

inline std::uint32_t own_stamp(const Warp& warp, std::uint32_t lane, bool strong) {
  return (strong ? 0x80000000u : 0u) | (warp.clock << 10) | (warp.index * 32 + lane);
}
// True when a write with this stamp is ordered before the warp's next access.
inline bool write_known(const Warp& warp, std::uint32_t stamp) {
  return stamp_clock(stamp) < warp.known[(stamp >> 5) & 31] && !doubted(warp, stamp);
}

// "thread (5,0,0)"; who read: "warp 3", "thread (5,0,0)", "other lanes of its warp"
std::string thread_name(const Warp& warp, std::uint32_t thread);
std::string readers_name(const Warp& warp, std::uint32_t stamp);

// True if a warp of a set's stamp other than this read, and this one knows nothing of it; `which`:
// that warp. reader_stamp.cpp.
bool set_open(const Warp& warp, std::uint32_t stamp, std::uint32_t* which = nullptr);
// The stamp of the set of `before` and reads by `who` of the warp now.
std::uint32_t set_with(Warp& warp, std::uint32_t before, std::uint32_t base, std::uint32_t who);
// Forgets all sets once every warp knows of every read.
void forget_readers(Block& block);

// True if reads that a stamp (no mark) names may lie beside what the warp does next.
inline bool reads_open(const Warp& warp, std::uint32_t stamp) {
  if (read_who(stamp) == read_by_set) return set_open(warp, stamp);
  const std::uint32_t reader = read_warp(stamp);
  const bool told = reader == warp.index && read_who(stamp) == read_by_warps;
  if (read_clock(stamp) >= (told ? warp.heard : warp.known[reader])) return true;
  return !told && doubted(warp, reader, read_clock(stamp), read_who(stamp));
}

// The stamp of a cell that `who` of the warp now reads too.
inline std::uint32_t read_stamp(Warp& warp, std::uint32_t before, std::uint32_t base,
                                std::uint32_t who) {
  const std::uint32_t earlier = read_who(before);
  if ((before & read_mark) != 0 || earlier == read_strongly || !reads_open(warp, before))
    return base | who;
  if (who == read_strongly) return before;
  const bool shared =
      earlier == read_by_set || earlier == read_by_warps || read_warp(before) != warp.index;
  if (!shared) return base | (earlier == who ? who : read_by_lanes);
  return warp.block->program->meets_in_part ? set_with(warp, before, base, who)
                                            : base | read_by_warps;
}

// True if the stamp (no mark) names lanes of this warp since its lanes were last ordered; then
// Block::lanes has them.
inline bool reads_of_lanes(const Warp& warp, std::uint32_t stamp) {
  return (stamp & read_mark) == 0 && read_who(stamp) <= read_by_lanes &&
         read_warp(stamp) == warp.index && reads_open(warp, stamp);
}
// read_stamp where Block::lanes is kept: of a cell that the lanes now read too. reader_stamp.cpp.
void stamp_lanes(Warp& warp, std::uint32_t cell, std::uint32_t base, std::uint32_t lanes);
// True if a lane knows of all the reads by its warp that the cell's stamp names.
bool lane_knows_reads(const Warp& warp, std::uint32_t lane, std::uint32_t cell);

// True if a write by a lane comes after all reads of the stamp (no mark).
inline bool after_reads(const Warp& warp, std::uint32_t lane, std::uint32_t stamp, bool strong) {
  const std::uint32_t who = read_who(stamp);
  if (!reads_open(warp, stamp)) return true;
  if (who == read_by_set) return false;
  if (who == read_strongly) return strong || read_warp(stamp) == warp.index;
  return read_warp(stamp) == warp.index && who == lane;
}

}  // namespace cupilot::ptx
