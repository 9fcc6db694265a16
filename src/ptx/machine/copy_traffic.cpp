// Counts the sectors and passes of cp.async, as an H200 does.
#include <algorithm>

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The lanes whose bytes arrive: of several with one destination the last.
u32 arriving(const CopyPattern& copy) {
  u32 lanes = copy.mask;
  for (u32 rest = copy.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    for (u32 later = copy.mask & ~((2u << lane) - 1); later != 0; later &= later - 1) {
      if (copy.to.at[first_lane(later)] == copy.to.at[lane]) lanes &= ~(1u << lane);
    }
  }
  return lanes;
}

// Through the first level: distinct sectors of all lanes.
u32 cached_sectors(const CopyPattern& copy) {
  u64 seen[32];
  u32 count = 0;
  for (u32 rest = copy.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const u64 sector = copy.from.at[lane] / 32;
    if (copy.sizes[lane] != 0 && std::find(seen, seen + count, sector) == seen + count)
      seen[count++] = sector;
  }
  return count;
}

// Past the first level a sector serves two lanes only when both its halves land in one sector of
// shared memory.
u32 bypassing_sectors(const CopyPattern& copy, u32 lanes) {
  u32 count = 0;
  for (u32 rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest), other = lane ^ 1;
    if (copy.sizes[lane] == 0) continue;
    const bool pair = (lanes >> other & 1) != 0 && copy.sizes[other] != 0 &&
                      copy.from.at[lane] != copy.from.at[other] &&
                      copy.from.at[lane] / 32 == copy.from.at[other] / 32 &&
                      copy.to.at[lane] / 32 == copy.to.at[other] / 32;
    count += pair && lane > other ? 0 : 1;
  }
  return count;
}

// Counts the passes of one side, in groups of as many lanes as 128 bytes hold: the most words on
// one bank; equal words do not share.
u32 bank_passes(const LaneAddresses& at, u32 mask, const CopyPattern& copy) {
  const u32 group = copy.bytes <= 4 ? 32 : copy.bytes == 8 ? 16 : 8;
  u32 passes = 0;
  for (u32 start = 0; start < 32; start += group) {
    u32 depth[32] = {}, deepest = 0;
    for (u32 lane = start; lane < start + group; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (u32 w = 0; w < copy.bytes / 4; ++w)
        deepest = std::max(deepest, ++depth[(at.at[lane] / 4 + w) & 31]);
    }
    passes += deepest;
  }
  return passes;
}

// Whole lines move at once as long as one exclusive-or of the 16-byte units leads from source to
// destination.
u32 line_passes(const CopyPattern& copy, u32 lanes) {
  struct Way {
    u64 from, to, turn;
    bool operator==(const Way&) const = default;
  };
  Way seen[32];
  u32 count = 0;
  for (u32 rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    const u64 from = copy.from.at[lane], to = copy.to.at[lane];
    const Way way{from / 128, to / 128, (from ^ to) & 0x70};
    if (std::find(seen, seen + count, way) == seen + count) seen[count++] = way;
  }
  return count;
}

}  // namespace

void count_copy(Warp& warp, const CopyPattern& copy) {
  if (copy.mask == 0) return;
  u32 reading = 0;
  for (u32 rest = copy.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    reading |= copy.sizes[lane] != 0 ? 1u << lane : 0;
  }
  const u32 lanes = copy.bypass ? arriving(copy) : copy.mask;
  const u32 sectors = copy.bypass ? bypassing_sectors(copy, lanes) : cached_sectors(copy);
  const u32 passes = copy.bypass ? line_passes(copy, lanes & reading)
                                 : std::max(bank_passes(copy.from, reading, copy),
                                            bank_passes(copy.to, copy.mask, copy));
  const u32 least = (static_cast<u32>(__builtin_popcount(copy.mask)) * copy.bytes + 127) / 128;
  if (sectors > 0) count_up(warp, Counter::global_load_requests, 1);
  count_up(warp, Counter::global_load_sectors, sectors);
  count_up(warp, Counter::shared_store_wavefronts, passes);
  if (!copy.bypass) count_up(warp, Counter::shared_conflicts, passes - std::min(least, passes));
  u64 bytes = 0;
  for (u32 rest = copy.mask; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    bytes += copy.sizes[lane];
    note_lines(warp, Intent::load, copy.from.at[lane], copy.sizes[lane]);
  }
  count_up(warp, Counter::async_copy_bytes, bytes);
}

}  // namespace cupilot::ptx
