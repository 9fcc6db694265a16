#include "ptx/machine/memory.hpp"

#include <bit>

#include "ptx/machine/block_order.hpp"
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

// True if one other block wrote all of them, and the warp knows of each of those writes.
bool written_before(const Warp& warp, const Words& w) {
  const LaunchContext& launch = *warp.block->launch;
  const u32 state = w.state[0], by = state & ~whole_word;
  if (by == 0 || by == (w.owner & ~whole_word) || (state & whole_word) != whole_word) return false;
  if (!launch.program->orders_blocks || launch.tellings == nullptr) return false;
  for (u32 i = 1; i < w.count; ++i) {
    if (w.state[i] != state) return false;
  }
  constexpr u32 lane_bits = 5;
  u32 known = 0;  // stamps of one warp at one clock are known or not together
  for (u32 i = 0; i < w.count; ++i) {
    const u32 stamp = w.writes[i];
    if (stamp == 0 || stamp >> lane_bits == known) continue;
    if (!block_knows_write(warp, by - 1, stamp)) return false;
    known = stamp >> lane_bits;
  }
  return true;
}

// Takes words whose threads are not told apart. False: another block wrote one, nobody wrote what
// is loaded, or the block wrote what is loaded as if nobody did.
bool take_unwatched(const Warp& warp, const Step& step, Buffer& buffer, u64 at, u32 count,
                    Intent intent) {
  const u32 owner = static_cast<u32>(warp.block->index + 1) & ~whole_word;
  const bool written = intent == Intent::load && warp.block->launch->options->check_initialised;
  const u32 allowed = intent == Intent::load && (step.flags & flag_read_only) != 0 ? 0 : owner;
  u32* const state = buffer.state.get() + at;
  bool own = true;
  for (u32 i = 0; i < count; ++i) {
    const u32 by = state[i] & ~whole_word;
    own &= by == 0 || by == allowed;
    own &= !written || (state[i] & whole_word) == whole_word;
  }
  if (!own || intent == Intent::load) return own;
  buffer.note_names(at, count);
  for (u32 i = 0; i < count; ++i) state[i] = whole_word | owner;
  return true;
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
  if (!buffer.state || warp.block->launch->parallel || warp.behind != 0) return false;
  if (intent == Intent::atomic || (step.flags & flag_strong) != 0 || !in_a_row(mask, memo))
    return false;
  const u32 first = first_lane(mask), owner = static_cast<u32>(warp.block->index + 1);
  const u32 shift = static_cast<u32>(std::countr_zero(memo.bytes / 4));
  const u64 at = offset / 4;
  if (stamps == nullptr) {
    return warp.block->program->global_shift == 2 &&
           take_unwatched(warp, step, buffer, at, static_cast<u32>(std::popcount(mask)) << shift,
                          intent);
  }
  if (stamps->shift != 2) return false;
  u64* const reads = stamps->reads.load(std::memory_order_relaxed);
  const Words words{buffer.state.get() + at,
                    stamps->writes.get() + at,
                    reads == nullptr ? nullptr : reads + at,
                    static_cast<u32>(std::popcount(mask)) << shift,
                    shift,
                    owner,
                    own_stamp(warp, first, false),
                    u64{stamps->reader(warp.block->index)} << 32 | read_base(warp) | first};
  const bool load = intent == Intent::load;
  const bool from_others = load && (step.flags & flag_read_only) == 0 && warp.doubts.empty() &&
                           written_before(warp, words);
  if ((!from_others && !untouched(words, load)) || (reads != nullptr && !unread(words, load)))
    return false;
  if (load) {
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
