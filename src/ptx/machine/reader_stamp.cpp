// Sets of warps that read a cell, each with its clock and who of it read. Cells that are read alike
// share one.
#include "ptx/machine/reader_stamp.hpp"

#include <bit>

#include <fmt/format.h>

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::size_t most_sets = 1u << 15;

const std::array<std::uint32_t, 32>* clocks_of(const Block& block, std::uint32_t stamp) {
  const std::uint32_t number = stamp >> 6;
  return number < block.readers.first ? nullptr
                                      : &block.readers.clocks[number - block.readers.first];
}

}  // namespace

bool set_open(const Warp& warp, std::uint32_t stamp, std::uint32_t* which) {
  const std::array<std::uint32_t, 32>* clocks = clocks_of(*warp.block, stamp);
  for (std::uint32_t i = 0; clocks != nullptr && i < 32; ++i) {
    const std::uint32_t clock = (*clocks)[i] >> 6;
    if (i == warp.index || (clock < warp.known[i] && !doubted(warp, i, clock, (*clocks)[i] & 63)))
      continue;
    if (which != nullptr) *which = i;
    return true;
  }
  return false;
}

std::string thread_name(const Warp& warp, std::uint32_t thread) {
  const Dim3& b = warp.block->launch->launch->block;
  return fmt::format("thread ({},{},{})", thread % b.x, thread / b.x % b.y, thread / (b.x * b.y));
}

std::string readers_name(const Warp& warp, std::uint32_t stamp) {
  const std::uint32_t who = read_who(stamp);
  std::uint32_t other = 0;
  if (who == read_by_set && set_open(warp, stamp, &other)) return fmt::format("warp {}", other);
  if (who < 32) return thread_name(warp, read_warp(stamp) * 32 + who);
  if (read_warp(stamp) != warp.index) return fmt::format("warp {}", read_warp(stamp));
  return who == read_by_warps ? "other warps" : "other lanes of its warp";
}

std::uint32_t set_with(Warp& warp, std::uint32_t before, std::uint32_t base, std::uint32_t who) {
  ReaderSets& sets = warp.block->readers;
  const bool grown = read_who(before) == read_by_set;
  const std::uint32_t own = grown ? (*clocks_of(*warp.block, before))[warp.index] : 0;
  // Lanes that read since they were last ordered are several.
  const bool joined = own >> 6 >= warp.known[warp.index] && (own & 63) != who;
  const std::uint32_t mine = (warp.clock << 6) | (joined ? read_by_lanes : who);
  if (own == mine) return before;
  const std::uint64_t key = (std::uint64_t{before} << 32) | base | (mine & 63);
  const auto found = sets.made.find(key);
  if (found != sets.made.end()) return found->second;
  if (sets.clocks.size() >= most_sets || sets.first + sets.clocks.size() >= 1u << 25)
    return base | read_by_warps;
  std::array<std::uint32_t, 32> clocks{};
  if (grown) {
    clocks = *clocks_of(*warp.block, before);
  } else {
    clocks[read_warp(before)] = (read_clock(before) << 6) | read_who(before);
  }
  clocks[warp.index] = mine;
  const auto number = static_cast<std::uint32_t>(sets.first + sets.clocks.size());
  sets.clocks.push_back(clocks);
  return sets.made[key] = (number << 6) | read_by_set;
}

void stamp_lanes(Warp& warp, std::uint32_t cell, std::uint32_t base, std::uint32_t lanes) {
  Block& block = *warp.block;
  const std::uint32_t before = block.reader[cell],
                      who = std::has_single_bit(lanes) ? first_lane(lanes) : read_by_lanes;
  const std::uint32_t after = read_stamp(warp, before, base, who);
  // An access ordered after these lanes is ordered after all that they know of.
  std::uint32_t kept = reads_of_lanes(warp, before) ? block.lanes[cell] : 0;
  for (std::uint32_t rest = kept & ~lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t earlier = first_lane(rest);
    for (std::uint32_t now = lanes; now != 0; now &= now - 1) {
      if (lane_knows(warp, first_lane(now), earlier, read_clock(before))) kept &= ~(1u << earlier);
    }
  }
  block.lanes[cell] = kept | lanes;
  const bool one = std::has_single_bit(block.lanes[cell]);
  block.reader[cell] =
      read_who(after) > read_by_lanes ? after : base | (one ? first_lane(lanes) : read_by_lanes);
}

bool lane_knows_reads(const Warp& warp, std::uint32_t lane, std::uint32_t cell) {
  const Block& block = *warp.block;
  const std::uint32_t stamp = block.reader[cell];
  if (!warp.parted || block.lanes.empty() || !reads_of_lanes(warp, stamp)) return false;
  for (std::uint32_t rest = block.lanes[cell] & ~(1u << lane); rest != 0; rest &= rest - 1) {
    if (!lane_knows(warp, lane, first_lane(rest), read_clock(stamp))) return false;
  }
  return true;
}

void forget_readers(Block& block) {
  ReaderSets& sets = block.readers;
  sets.first += static_cast<std::uint32_t>(sets.clocks.size());
  sets.clocks.clear();
  sets.made.clear();
}

}  // namespace cupilot::ptx
