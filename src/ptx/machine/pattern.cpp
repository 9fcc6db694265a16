// Sectors of global accesses and wavefronts of shared ones.
#include <algorithm>

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {
namespace {

std::uint32_t place_of(const PatternMemo& memo, std::uint32_t lane) {
  return memo.delta[lane] + memo.residue;
}

// Distinct 32-byte sectors of lanes whose addresses never fall: a sector is new, or it is the last
// one.
std::uint32_t sectors_in_order(const PatternMemo& memo) {
  std::uint32_t count = 0, next = 0;
  for (std::uint32_t rest = memo.mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t place = place_of(memo, first_lane(rest)),
                        first = std::max(place >> 5, next);
    const std::uint32_t end = ((place + memo.bytes - 1) >> 5) + 1;
    if (end <= first) continue;
    count += end - first;
    next = end;
  }
  return count;
}

// Distinct 32-byte sectors.
std::uint32_t sectors(const PatternMemo& memo) {
  if (memo.gapless)
    return ((memo.residue + static_cast<std::uint32_t>(memo.most) + memo.bytes - 1) >> 5) + 1;
  if (memo.rising) return sectors_in_order(memo);
  std::uint32_t seen[64];
  std::uint32_t count = 0;
  for (std::uint32_t rest = memo.mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint32_t first = place_of(memo, lane) >> 5,
                        last = (place_of(memo, lane) + memo.bytes - 1) >> 5;
    for (std::uint32_t s = first;; ++s) {
      if (std::find(seen, seen + count, s) == seen + count && count < 64) seen[count++] = s;
      if (s == last) break;
    }
  }
  return count;
}

// A sector is gone through again for every further lane on one of its words.
std::uint32_t atomic_sectors(const PatternMemo& memo) {
  std::uint32_t sector[32], turns[32], count = 0, sum = 0;
  for (std::uint32_t rest = memo.leaders; rest != 0; rest &= rest - 1) {
    const std::uint32_t place = place_of(memo, first_lane(rest));
    std::uint32_t alike = 0;
    for (std::uint32_t lanes = memo.mask; lanes != 0; lanes &= lanes - 1)
      alike += place_of(memo, first_lane(lanes)) == place ? 1 : 0;
    const auto at =
        static_cast<std::uint32_t>(std::find(sector, sector + count, place >> 5) - sector);
    if (at == count) {
      sector[count] = place >> 5;
      turns[count++] = 0;
    }
    sum += alike > turns[at] ? alike - turns[at] : 0;
    turns[at] = std::max(turns[at], alike);
  }
  return sum;
}

// Lanes of one pass at most: all, for 8 bytes half a warp, for 16 a quarter.
std::uint32_t lanes_a_pass(std::uint32_t bytes) { return bytes <= 4 ? 32 : bytes == 8 ? 16 : 8; }

// Two groups of lanes load in one pass where neighbours, or neighbours but one, ask for the same.
bool loads_in_pairs(const PatternMemo& memo) {
  if (memo.kind != PatternKind::load || memo.bytes < 8) return false;
  for (const std::uint32_t apart : {1u, 2u}) {
    bool alike = true;
    for (std::uint32_t rest = memo.mask; rest != 0 && alike; rest &= rest - 1) {
      const std::uint32_t lane = first_lane(rest), other = lane ^ apart;
      alike = (memo.mask >> other & 1) == 0 || memo.delta[other] == memo.delta[lane];
    }
    if (alike) return true;
  }
  return false;
}

// Passes over 32 banks of 4 bytes for lanes [start, end): equal words count once, but each lane of
// an atomic by itself.
void add_passes(PatternMemo& memo, std::uint32_t start, std::uint32_t end) {
  const std::uint32_t words = std::max(memo.bytes / 4, 1u);
  std::uint32_t list[32][32];
  std::uint32_t depth[32] = {}, deepest = 0, distinct = 0;
  for (std::uint32_t lane = start; lane < end; ++lane) {
    if (((memo.mask >> lane) & 1) == 0) continue;
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::uint32_t word = place_of(memo, lane) / 4 + w, bank = word & 31;
      const bool known =
          std::find(list[bank], list[bank] + depth[bank], word) != list[bank] + depth[bank];
      if ((known && memo.kind != PatternKind::atomic) || depth[bank] == 32) continue;
      list[bank][depth[bank]++] = word;
      deepest = std::max(deepest, depth[bank]);
      ++distinct;
    }
  }
  memo.passes += deepest;
  memo.ideal += (distinct + 31) / 32;
}

// Describes the part of a pattern that does not depend on its beginning.
void describe(PatternMemo& memo) {
  memo.leaders = memo.doubled = memo.odd = 0;
  memo.least = memo.most = 0;
  memo.rising = memo.gapless = true;
  std::uint32_t leader = 0;  // of the lane before
  for (std::uint32_t rest = memo.mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const auto delta = static_cast<std::int32_t>(memo.delta[lane]);
    memo.rising = memo.rising && delta >= memo.most;
    memo.gapless =
        memo.gapless && memo.rising && delta - memo.most <= static_cast<std::int32_t>(memo.bytes);
    bool repeated = memo.rising && memo.leaders != 0 && delta == memo.most;
    if (!memo.rising) {
      for (std::uint32_t lower = memo.mask & ((1u << lane) - 1); lower != 0 && !repeated;
           lower &= lower - 1) {
        leader = first_lane(lower);
        repeated = memo.delta[leader] == memo.delta[lane];
      }
    }
    if (repeated) {
      memo.doubled |= 1u << leader;
    } else {
      memo.leaders |= 1u << lane;
      leader = lane;
    }
    memo.odd |= memo.delta[lane];
    memo.least = std::min(memo.least, delta);
    memo.most = std::max(memo.most, delta);
  }
}

void wavefronts(PatternMemo& memo) {
  const std::uint32_t group = lanes_a_pass(memo.bytes) * (loads_in_pairs(memo) ? 2 : 1);
  memo.passes = memo.ideal = 0;
  for (std::uint32_t start = 0; start < 32; start += group) add_passes(memo, start, start + group);
}

}  // namespace

void count_at_step(Warp& warp, Counter counter, std::uint64_t by) {
  LineTraffic& traffic = warp.block->worker->traffic[warp.code->first_count + warp.pc - 1];
  switch (counter) {
    case Counter::global_load_requests:
    case Counter::global_store_requests:
    case Counter::atomic_requests:
      traffic.requests += by;
      break;
    case Counter::global_load_sectors:
    case Counter::global_store_sectors:
    case Counter::atomic_sectors:
      traffic.sectors += by;
      break;
    case Counter::shared_load_wavefronts:
    case Counter::shared_store_wavefronts:
      traffic.wavefronts += by;
      break;
    case Counter::shared_conflicts:
      traffic.conflicts += by;
      break;
    case Counter::divergent_branches:
      traffic.divergences += by;
      break;
    default:
      break;
  }
}

PatternMemo& pattern_of(Warp& warp, const Step& step, std::uint32_t mask,
                        const LaneAddresses& addresses, std::uint32_t bytes, PatternKind kind) {
  const bool shared = kind >= PatternKind::load;
  PatternMemo& memo =
      warp.block->worker->memos[2 * (warp.code->first_count + step.instruction) + (shared ? 1 : 0)];
  if (memo.launch != warp.block->program->launches) {
    memo.launch = warp.block->program->launches;
    memo.buffer = nullptr;
    memo.residue = residue_unknown;
  }
  const std::uint64_t base = addresses.at[first_lane(mask)];
  const std::uint32_t residue = static_cast<std::uint32_t>(base & (shared ? 3 : 31));
  alignas(64) std::array<std::uint32_t, 32> delta;
  std::uint32_t differ = 0;
  if (mask == full_mask) {
    for (std::uint32_t i = 0; i < 32; ++i) {
      delta[i] = static_cast<std::uint32_t>(addresses.at[i] - base);
      differ |= delta[i] ^ memo.delta[i];
    }
  } else {
    for (std::uint32_t i = 0; i < 32; ++i) {
      const auto from = static_cast<std::uint32_t>(addresses.at[i] - base);
      delta[i] = ((mask >> i) & 1) != 0 ? from : 0;
      differ |= delta[i] ^ memo.delta[i];
    }
  }
  const bool alike = memo.mask == mask && memo.bytes == bytes && memo.kind == kind && differ == 0;
  const bool counts = warp.block->launch->options->count;
  if (alike && (memo.residue == residue || !counts)) return memo;
  memo.residue = residue;
  if (!alike) {
    memo.delta = delta;
    memo.mask = mask;
    memo.bytes = bytes;
    memo.kind = kind;
    describe(memo);
  }
  if (!counts) return memo;
  if (shared) {
    wavefronts(memo);
  } else {
    memo.passes = kind == PatternKind::sectors ? sectors(memo) : atomic_sectors(memo);
  }
  return memo;
}

}  // namespace cupilot::ptx
