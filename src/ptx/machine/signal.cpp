// Each word that a strong write reached holds what its writers' last fences released; who reads it
// strongly takes that at its next fence. What was held is never dropped, so no order that PTX gives
// is missed.
#include "ptx/machine/signal.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "ptx/machine/block_order.hpp"
#include "ptx/machine/cluster.hpp"
#include "ptx/machine/older_value.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Clocks beyond are left to barriers: a loop that spins over a fence would use them all up.
constexpr u32 last_fence_clock = clock_max / 2;

struct Fenced {
  bool any = false;       // the knowledge below holds something
  ReleaseClock released;  // at the last fence
  u32 clock = 0;          // of the accesses after it
  u32 touched = 0;        // lanes whose accesses no barrier had ordered then
  u32 from = 0;           // clock of the first of them
  bool reads = false;     // `seen` holds something
  ReleaseClock seen;      // of words read strongly since
};

}  // namespace

struct Signals {
  std::unordered_map<u64, ReleaseClock> at;  // by address
  std::array<Fenced, 32> warps;
  std::array<Fenced, 32> wide;  // the same of fences that reach other blocks
  Clocks fenced{};              // of a warp's accesses that such a fence of its own covers
};

namespace {

Signals& signals_of(Warp& w) {
  if (w.block->signals == nullptr) w.block->signals = std::make_shared<Signals>();
  return *w.block->signals;
}

// Shared memory lies at one place, however it is named.
u64 key_of(const Step& s, u64 address) {
  const bool shared = (s.flags & space_mask) == space_shared;
  return (shared ? shared_window | (address & ~window_mask) : address) & ~u64{3};
}

// Calls f(key) for the words of the executing lanes, but for those a neighbour just named.
template <class F>
void for_words(const Warp& w, const Step& s, const LaneAddresses& a, u32 bytes, F f) {
  u64 last = ~u64{0};
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    const u64 first = key_of(s, a.at[first_lane(rest)]);
    if (first == last) continue;
    last = first;
    for (u64 key = first; key < first + std::max(bytes, 4u); key += 4) f(key);
  }
}

void acquire_seen(Warp& w, Fenced& fenced) {
  if (!fenced.reads) return;
  acquire_from(w, fenced.seen);
  fenced.reads = false;
  fenced.seen = {};
}

void release_now(Warp& w, Fenced& fenced) {
  fenced.touched = w.parted ? 0 : w.touched;
  fenced.from = w.known[w.index];
  if (w.clock < last_fence_clock) tick(w);
  const u32 mask = w.mask;
  w.mask = w.live;  // the lanes that each speaks for are asked when something is told
  fenced.released = {};
  release_to(w, fenced.released);
  w.mask = mask;
  if (w.clock >= last_fence_clock) fenced.released.known[w.index] = w.clock + 1;
  fenced.clock = w.clock;
  fenced.any = true;
}

// Returns the knowledge that the executing lanes tell by a strong write: released at the fence, and
// told to them by barriers since.
ReleaseClock told_by(const Warp& w, const Fenced& fenced) {
  ReleaseClock out{w.known, w.doubts, {}, {}};
  out.known[w.index] = 0;
  merge_knowledge(out, fenced.released);
  for (u32 i = 0; i < 32 && !out.beyond.far.empty(); ++i) {
    u32& far = out.beyond.far[32 * w.block->rank + i];
    far = std::max(far, out.known[i]);
  }
  // Lanes that fenced too, but were not ordered with these, speak for themselves.
  const u32 silent = fenced.touched & w.live & ~w.mask;
  const bool ordered =
      w.known[w.index] >= fenced.clock || w.parted || w.block->cluster->blocks.size() > 1;
  if (silent == 0 || ordered) return out;
  out.doubts.resize(32);
  out.doubts[w.index] = {fenced.from, fenced.clock, silent,
                         std::popcount(fenced.touched & w.mask) <= 1};
  return out;
}

// True if an instruction's scope reaches other blocks, and what they are told is kept.
bool reaches_blocks(const Warp& w, const Step& s) {
  return w.block->launch->tellings != nullptr && (s.aux & within_block) == 0;
}

void release_wide(Warp& w) {
  Signals& signals = signals_of(w);
  release_now(w, signals.wide[w.index]);
  signals.fenced[w.index] = w.clock;
}

void fence(Lanes& l, const Step& s) {
  Warp& w = static_cast<Warp&>(l);
  if (w.mask == 0) return;
  Signals& signals = signals_of(w);
  acquire_seen(w, signals.warps[w.index]);
  if (reaches_blocks(w, s)) {
    acquire_seen(w, signals.wide[w.index]);
    release_wide(w);
  }
  release_now(w, signals.warps[w.index]);
  if ((s.aux & in_one_order) != 0 && sees_blocks(w, s)) note_fence(w);
}

// Assumes that an atomic which states no order acquires by itself, as CUDA programs from before the
// memory model do: what it leads to is read behind its result. A fence after it makes it sure.
void assume_seen(Warp& w, const Fenced& wide) {
  if (!wide.reads) return;
  ReleaseClock by_result;
  by_result.assumed = wide.seen.foreign;
  learn_foreign(by_result.assumed, wide.seen.assumed);
  acquire_from(w, by_result);
}

// Takes what strong reads of words tell of other blocks.
void hear_blocks(Warp& w, const Step& s, const LaneAddresses& a, u32 bytes, Intent intent,
                 u32 older) {
  Fenced& wide = signals_of(w).wide[w.index];
  const auto hear = [&](const Told& told) {
    if (told.known == nullptr && told.assumed == nullptr) return;
    learn_foreign(wide.seen.foreign, told.known);
    learn_foreign(wide.seen.assumed, told.assumed);
    wide.reads = true;
  };
  const u32 mask = std::exchange(w.mask, w.mask & ~older);
  for_words(w, s, a, bytes, [&](u64 key) { hear(told_to(w, key)); });
  w.mask = mask;
  for (u32 rest = older; rest != 0; rest &= rest - 1) hear(told_before(w, a.at[first_lane(rest)]));
  if ((s.aux & acquires) != 0) {
    acquire_seen(w, wide);
  } else if (intent == Intent::atomic && (s.aux & states_order) == 0) {
    assume_seen(w, wide);
  }
}

// Tells other blocks by a strong write: of each warp what was known of it at this warp's last
// fence, and of what is known of it since by barriers what a fence of its own covers.
void inform_blocks(Warp& w, const Step& s, const LaneAddresses& a, u32 bytes) {
  Signals& signals = signals_of(w);
  const Fenced& wide = signals.wide[w.index];
  if (!wide.any) return;
  auto clocks = std::make_shared<Clocks>(wide.released.known);
  for (u32 i = 0; i < clocks->size(); ++i)
    (*clocks)[i] = std::max((*clocks)[i], std::min(w.known[i], signals.fenced[i]));
  const Told others{wide.released.foreign, wide.released.assumed};
  for_words(w, s, a, bytes, [&](u64 key) { tell_blocks(w, key, clocks, others); });
}

}  // namespace

void before_strong(Warp& w, const Step& s) {
  if ((s.aux & releases) == 0) return;
  if (reaches_blocks(w, s)) release_wide(w);
  release_now(w, signals_of(w).warps[w.index]);
}

void after_strong(Warp& w, const Step& s, const LaneAddresses& a, u32 bytes, Intent intent,
                  u32 older) {
  Signals& signals = signals_of(w);
  Fenced& fenced = signals.warps[w.index];
  if (intent != Intent::store && !signals.at.empty()) {
    for_words(w, s, a, bytes, [&](u64 key) {
      const auto found = signals.at.find(key);
      if (found == signals.at.end()) return;
      merge_knowledge(fenced.seen, found->second);
      fenced.reads = true;
    });
    if ((s.aux & acquires) != 0) acquire_seen(w, fenced);
  }
  if (reaches_blocks(w, s) && (s.flags & space_mask) != space_shared) {
    if (intent != Intent::store) hear_blocks(w, s, a, bytes, intent, older);
    if (intent != Intent::load) inform_blocks(w, s, a, bytes);
  }
  if (intent == Intent::load || !fenced.any) return;
  const ReleaseClock told = told_by(w, fenced);
  for_words(w, s, a, bytes, [&](u64 key) {
    const auto [at, fresh] = signals.at.try_emplace(key, told);
    if (!fresh) merge_knowledge(at->second, told);
  });
}

std::uint32_t order_bits(Decoder& d) {
  const Form& form = d.form();
  const bool both = form.has("acq_rel");
  const u32 bits =
      (both || form.has("acquire") ? acquires : 0u) | (both || form.has("release") ? releases : 0u);
  if (bits != 0) d.program.orders_threads = true;
  return bits | (bits != 0 || form.has("relaxed") ? states_order : 0u) |
         (form.has("cta") ? within_block : 0u);
}

bool decode_fence(Decoder& d, Step& step) {
  d.program.orders_threads = true;
  if (d.form().has("cta")) step.aux |= within_block;
  if (!d.form().has("acq_rel")) step.aux |= in_one_order;
  step.run = fence;
  return true;
}

}  // namespace cupilot::ptx
