// Sectors of global accesses and wavefronts of shared ones.
#include <algorithm>
#include <cstring>

#include "ptx/memory.hpp"

namespace cupilot::ptx {
namespace {

// Distinct 32-byte sectors.
std::uint32_t sectors(const PatternMemo& memo, std::uint32_t mask) {
  std::uint32_t seen[64];
  std::uint32_t count = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = first_lane(rest);
    const std::uint32_t first = (memo.delta[lane] + memo.residue) >> 5,
                        last = (memo.delta[lane] + memo.residue + memo.bytes - 1) >> 5;
    for (std::uint32_t s = first;; ++s) {
      if (std::find(seen, seen + count, s) == seen + count && count < 64) seen[count++] = s;
      if (s == last) break;
    }
  }
  return count;
}

// 128-byte passes over 32 banks of 4 bytes: accesses of 8 bytes go by half warps, of 16 by quarters; equal words count once.
void wavefronts(PatternMemo& memo, std::uint32_t mask) {
  const std::uint32_t words = std::max(memo.bytes / 4, 1u);
  const std::uint32_t group = 32 / std::min(words, 4u);
  memo.passes = memo.ideal = 0;
  for (std::uint32_t start = 0; start < 32; start += group) {
    std::uint32_t list[32][32];
    std::uint32_t depth[32] = {}, deepest = 0, distinct = 0;
    for (std::uint32_t lane = start; lane < start + group; ++lane) {
      if (((mask >> lane) & 1) == 0) continue;
      for (std::uint32_t w = 0; w < words; ++w) {
        const std::uint32_t word = (memo.delta[lane] + memo.residue) / 4 + w, bank = word & 31;
        if (std::find(list[bank], list[bank] + depth[bank], word) != list[bank] + depth[bank]) continue;
        if (depth[bank] == 32) continue;
        list[bank][depth[bank]++] = word;
        deepest = std::max(deepest, depth[bank]);
        ++distinct;
      }
    }
    memo.passes += deepest;
    memo.ideal += (distinct + 31) / 32;
  }
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

PatternMemo& pattern_of(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses, std::uint32_t bytes,
                        bool shared) {
  PatternMemo& memo = warp.block->worker->memos[2 * (warp.code->first_count + step.instruction) + (shared ? 1 : 0)];
  const std::uint64_t base = addresses.at[first_lane(mask)];
  const std::uint32_t residue = static_cast<std::uint32_t>(base & (shared ? 3 : 31));
  alignas(64) std::array<std::uint32_t, 32> delta;
  for (std::uint32_t i = 0; i < 32; ++i) delta[i] = static_cast<std::uint32_t>(addresses.at[i] - base);
  if (mask != full_mask) {
    for (std::uint32_t i = 0; i < 32; ++i) delta[i] = ((mask >> i) & 1) != 0 ? delta[i] : 0;
  }
  if (memo.mask == mask && memo.residue == residue && memo.bytes == bytes && memo.shared == shared &&
      std::memcmp(memo.delta.data(), delta.data(), sizeof(delta)) == 0) {
    return memo;
  }
  memo.delta = delta;
  memo.mask = mask;
  memo.residue = residue;
  memo.bytes = bytes;
  memo.shared = shared;
  memo.leaders = memo.doubled = memo.odd = 0;
  memo.least = memo.most = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    if (((mask >> i) & 1) == 0) continue;
    memo.odd |= delta[i];
    memo.least = std::min(memo.least, static_cast<std::int32_t>(delta[i]));
    memo.most = std::max(memo.most, static_cast<std::int32_t>(delta[i]));
    bool repeated = false;
    for (std::uint32_t j = 0; j < i && !repeated; ++j) {
      repeated = ((mask >> j) & 1) != 0 && delta[j] == delta[i];
      if (repeated) memo.doubled |= 1u << j;
    }
    if (!repeated) memo.leaders |= 1u << i;
  }
  if (shared) {
    wavefronts(memo, mask);
  } else {
    memo.passes = sectors(memo, mask);
  }
  return memo;
}

}  // namespace cupilot::ptx
