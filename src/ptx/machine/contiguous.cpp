#include "ptx/machine/memory.hpp"

#include <bit>

#include "ptx/machine/reader_stamp.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Words {
  u32* state;
  u32* writes;
  u64* reads;        // null: nobody read
  u32 count, shift;  // in all; log2 of those of a lane
  u32 owner, stamp;  // of the block; of a write by the first lane
  u64 read;          // of a read by it
};

// True if no block of the launch wrote them; `written`: and they hold something.
bool untouched(const Words& w, bool written) {
  u32 any = 0, all = ~0u;
  for (u32 i = 0; i < w.count; ++i) {
    any |= w.state[i];
    all &= w.state[i];
  }
  return (any & ~whole_word) == 0 && (!written || (all & whole_word) == whole_word);
}

// True if in this launch no thread but each word's own read it, and that since the last barrier;
// `others`: blocks aside.
bool unread(const Words& w, bool others) {
  bool out = true;
  const u64 launch = w.read >> 60;
  for (u32 i = 0; i < w.count; ++i) {
    const u64 r = w.reads[i];
    const bool here = r >> 32 == w.read >> 32 || (!others && r >> 60 == launch && r << 4 != 0);
    out &= !here || r == w.read + (i >> w.shift);
  }
  return out;
}

// Lanes in a row, the next lane's bytes behind each lane's.
bool in_a_row(u32 mask, const PatternMemo& memo) {
  const u32 lanes = mask >> first_lane(mask);
  return memo.gapless && memo.leaders == mask && (lanes & (lanes + 1)) == 0 && memo.bytes >= 4;
}

}  // namespace

bool take_stretch(Warp& warp, const Step& step, u32 mask, const PatternMemo& memo, Buffer& buffer,
                  u64 offset, Intent intent) {
  ThreadStamps* const stamps = buffer.threads.get();
  if (stamps == nullptr || stamps->shift != 2 || warp.block->launch->parallel || warp.behind != 0)
    return false;
  if (intent == Intent::atomic || (step.flags & flag_strong) != 0 || !in_a_row(mask, memo))
    return false;
  u64* const reads = stamps->reads.load(std::memory_order_relaxed);
  const u32 first = first_lane(mask), owner = static_cast<u32>(warp.block->index + 1);
  const u32 shift = static_cast<u32>(std::countr_zero(memo.bytes / 4));
  const u64 at = offset / 4;
  const Words words{buffer.state.get() + at,
                    stamps->writes.get() + at,
                    reads == nullptr ? nullptr : reads + at,
                    static_cast<u32>(std::popcount(mask)) << shift,
                    shift,
                    owner,
                    own_stamp(warp, first, false),
                    u64{stamps->reader(warp.block->index)} << 32 | read_base(warp) | first};
  if (!untouched(words, intent == Intent::load) ||
      (reads != nullptr && !unread(words, intent == Intent::load)))
    return false;
  if (intent == Intent::load) {
    if (reads == nullptr) return false;
    for (u32 i = 0; i < words.count; ++i) words.reads[i] = words.read + (i >> shift);
  } else {
    buffer.note_names(at, words.count);
    for (u32 i = 0; i < words.count; ++i) words.state[i] = whole_word | owner;
    for (u32 i = 0; i < words.count; ++i) words.writes[i] = words.stamp + (i >> shift);
  }
  warp.touched |= mask;
  return true;
}

}  // namespace cupilot::ptx
