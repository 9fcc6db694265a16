// A place keeps one older value. A read of it is coherent when nobody that comes before the reader
// wrote or saw the newer one.
#include "ptx/machine/older_value.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "ptx/machine/block_order.hpp"
#include "ptx/machine/mixed.hpp"
#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// A polled word shows its newest value after so many older ones.
constexpr u32 most_taken = 8;
constexpr std::size_t most_seen = 16;
constexpr u64 widest = 16, most_blocks = 4096;

// An access by a warp.
struct Moment {
  u64 block = 0;
  u32 warp = 0, clock = 0;
  u64 writes = 0;  // of the launch so far
};

struct Place {
  u64 address = 0;
  u32 bytes = 0, thread = 0, taken = 0;
  Moment written{};
  std::vector<Moment> seen;  // reads of the newest value
  std::array<u8, widest> before{};
  Told told;  // before
};

}  // namespace

struct OlderValues {
  u64 writes = 0;
  std::unordered_map<u64, std::vector<Place>> at;    // by address / widest
  std::unordered_map<u64, std::vector<u64>> fences;  // block -> writes before each of its fences
};

namespace {

Place* place_at(OlderValues& older, u64 address, u32 bytes) {
  const auto found = older.at.find(address / widest);
  if (found == older.at.end()) return nullptr;
  for (Place& place : found->second) {
    if (place.address == address && place.bytes == bytes) return &place;
  }
  return nullptr;
}

bool is_global(u64 address) {
  const u64 window = address & window_mask;
  return window != shared_window && window != local_window && window != param_window;
}

// The place of exactly these bytes; others that they touch are forgotten.
Place& place_alone(OlderValues& older, u64 address, u32 bytes) {
  std::vector<Place>& all = older.at[address / widest];
  std::erase_if(all, [&](const Place& place) {
    const bool same = place.address == address && place.bytes == bytes;
    return !same && place.address < address + bytes && address < place.address + place.bytes;
  });
  for (Place& place : all) {
    if (place.address == address) return place;
  }
  all.emplace_back();
  all.back().address = address;
  all.back().bytes = bytes;
  return all.back();
}

// True if a fence of the moment's block after it stands before one that the reader's block made.
bool fenced_before(const OlderValues& older, const Moment& moment, u64 reader) {
  const auto mine = older.fences.find(reader), other = older.fences.find(moment.block);
  if (mine == older.fences.end() || other == older.fences.end()) return false;
  const auto after = std::lower_bound(other->second.begin(), other->second.end(), moment.writes);
  return after != other->second.end() && *after <= mine->second.back();
}

bool comes_before(const OlderValues& older, const Warp& warp, const Moment& moment) {
  if (moment.block == warp.block->index)
    return moment.warp == warp.index || moment.clock < warp.known[moment.warp];
  return block_knows(warp, moment.block, moment.warp, moment.clock) ||
         block_assumed(warp, moment.block, moment.warp, moment.clock) ||
         fenced_before(older, moment, warp.block->index);
}

bool may_miss(const OlderValues& older, const Warp& warp, const Place& place) {
  if (place.taken >= most_taken || place.seen.size() >= most_seen) return false;
  if (place.written.block == warp.block->index || comes_before(older, warp, place.written))
    return false;
  return std::none_of(place.seen.begin(), place.seen.end(),
                      [&](const Moment& moment) { return comes_before(older, warp, moment); });
}

Moment now(const OlderValues& older, const Warp& warp) {
  return {warp.block->index, warp.index, warp.clock, older.writes};
}

void see(const OlderValues& older, const Warp& warp, Place& place) {
  const auto mine = [&](const Moment& moment) {
    return moment.block == warp.block->index && moment.warp == warp.index;
  };
  if (place.seen.size() < most_seen && std::none_of(place.seen.begin(), place.seen.end(), mine))
    place.seen.push_back(now(older, warp));
}

std::string missed_text(const Warp& warp, const Place& place) {
  const Dim3& grid = warp.block->launch->launch->grid;
  const u64 block = place.written.block;
  return fmt::format(
      "reads {} as it was before {} of block ({},{},{}) wrote it: nothing orders the read after "
      "the write",
      warp.block->launch->memory->describe(place.address), thread_name(warp, place.thread),
      block % grid.x, block / grid.x % grid.y, block / (u64{grid.x} * grid.y));
}

}  // namespace

void watch_values(LaunchContext& launch, bool gives_way) {
  const Dim3& grid = launch.launch->grid;
  const u64 blocks = u64{grid.x} * grid.y * grid.z;
  const bool wanted = gives_way && launch.program->reads_strongly && !launch.parallel &&
                      blocks > 1 && blocks <= most_blocks;
  launch.older = wanted ? std::make_shared<OlderValues>() : nullptr;
}

void keep_older(Warp& w, const Step&, const LaneAddresses& a, const LanePointers& p, u32 bytes) {
  OlderValues& older = *w.block->launch->older;
  ++older.writes;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (bytes > widest || !is_global(a.at[lane])) continue;
    Place& place = place_alone(older, a.at[lane], bytes);
    place.thread = w.index * 32 + lane;
    place.taken = 0;
    place.written = now(older, w);
    place.seen.clear();
    std::memcpy(place.before.data(), p.at[lane], bytes);
    place.told = w.block->launch->tellings ? told_to(w, a.at[lane] & ~u64{3}) : Told{};
  }
}

void note_seen(Warp& w, const LaneAddresses& a, u32 bytes) {
  OlderValues& older = *w.block->launch->older;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    if (Place* place = place_at(older, a.at[first_lane(rest)], bytes)) see(older, w, *place);
  }
}

u32 take_older(Warp& w, const Step& s, const LaneAddresses& a, u32 bytes, LanePointers& p) {
  OlderValues& older = *w.block->launch->older;
  if (older.at.empty()) return 0;
  w.drawn = mixed(w.drawn) | 1;
  const bool chance = ((w.drawn >> 41) & 1) != 0;
  u32 out = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    Place* place = place_at(older, a.at[lane], bytes);
    if (place == nullptr) continue;
    const AsLane as(w, lane);
    if (!chance || !may_miss(older, w, *place)) {
      see(older, w, *place);
      continue;
    }
    ++place->taken;
    if (std::memcmp(place->before.data(), p.at[lane], bytes) != 0)
      remark(w, s, lane, "older_value", missed_text(w, *place), Kept::last);
    p.at[lane] = place->before.data();
    out |= 1u << lane;
  }
  return out;
}

Told told_before(const Warp& w, u64 address) {
  const auto found = w.block->launch->older->at.find(address / widest);
  if (found == w.block->launch->older->at.end()) return {};
  for (const Place& place : found->second) {
    if (place.address == address) return place.told;
  }
  return {};
}

void note_fence(Warp& w) {
  OlderValues& older = *w.block->launch->older;
  std::vector<u64>& fences = older.fences[w.block->index];
  if (fences.empty() || fences.back() != older.writes) fences.push_back(older.writes);
}

}  // namespace cupilot::ptx
