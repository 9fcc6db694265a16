// Keeps the knowledge of warps of each other's past, and hands it on at barriers.
#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/machine/block_order.hpp"
#include "ptx/machine/cluster.hpp"

namespace cupilot::ptx {
namespace {

using u32 = std::uint32_t;

void merge(std::vector<u32>& into, const std::vector<u32>& from) {
  if (into.size() < from.size()) into.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void merge(Beyond& into, const Beyond& from) {
  merge(into.far, from.far);
  merge(into.proxied, from.proxied);
  merge(into.drained, from.drained);
  merge(into.seen, from.seen);
}

// The cluster-wide clocks of the warp's own block are those of `known`.
void share_own(Warp& w) {
  if (w.beyond.far.empty()) return;
  std::copy(w.known.begin(), w.known.end(), w.beyond.far.begin() + 32 * w.block->rank);
  w.beyond.far[32 * w.block->rank + w.index] = w.clock;
}

// Combines the knowledge of two sides of one warp, each up to a clock and but for a doubt: accesses
// that both leave out stay in doubt.
Doubt combined(u32 a, const Doubt& x, u32 b, const Doubt& y) {
  Doubt out = x.lanes == 0 ? y : x;
  if (x.lanes != 0 && y.lanes != 0) {
    out = {std::max(x.from, y.from), std::max(x.to, y.to), x.lanes & y.lanes,
           x.one && y.one && x.lanes == y.lanes};
  } else {
    out.from = std::max(out.from, x.lanes == 0 ? a : b);
  }
  return out.lanes == 0 || out.from >= out.to ? Doubt{} : out;
}

void merge(std::array<u32, 32>& known, std::vector<Doubt>& doubts, const std::array<u32, 32>& from,
           const std::vector<Doubt>& more) {
  if (!doubts.empty() || !more.empty()) {
    doubts.resize(32);
    bool any = false;
    for (u32 i = 0; i < 32; ++i) {
      doubts[i] = combined(known[i], doubts[i], from[i], more.empty() ? Doubt{} : more[i]);
      any |= doubts[i].lanes != 0;
    }
    if (!any) doubts.clear();
  }
  for (u32 i = 0; i < 32; ++i) known[i] = std::max(known[i], from[i]);
}

// Lanes other than these are about to stay behind.
void part(Warp& w, u32 lanes) {
  if ((w.live & ~lanes) == 0) return;
  if (w.behind != 0) {
    w.behind &= ~lanes;
    return;
  }
  w.before = {w.known, w.doubts, w.beyond, w.foreign, w.assumed};
  w.behind = w.live & ~lanes;
}

void learn(Warp& w, const ReleaseClock& from) {
  // It may have read before it learnt: at its present clock.
  w.heard = w.clock + 1;
  learn_foreign(w.foreign, from.foreign);
  learn_foreign(w.assumed, from.assumed);
  if (!w.block->beyond) return merge(w.known, w.doubts, from.known, from.doubts);
  // Only the cluster-wide clocks of barriers in other blocks mean anything here.
  merge(w.beyond, from.beyond);
  if (from.beyond.far.empty()) return;
  std::array<u32, 32> known{};
  std::copy_n(from.beyond.far.begin() + 32 * w.block->rank, 32, known.begin());
  merge(w.known, w.doubts, known, from.doubts);
}

void see(Beyond& beyond, u32 slot, u32 phases) {
  if (beyond.seen.size() <= slot) beyond.seen.resize(slot + 1, 0);
  beyond.seen[slot] = std::max(beyond.seen[slot], phases);
}

// The clock up to which one of the executing lanes knows a lane's accesses.
u32 known_of(const Warp& w, u32 lane) {
  u32 clock = w.known[w.index];
  for (u32 rest = w.parted ? w.mask : 0; rest != 0; rest &= rest - 1)
    clock = std::max(clock, w.peers->known[first_lane(rest)][lane]);
  return clock;
}

u32 touched_lanes(const Warp& w) {
  return w.live & (w.parted ? w.touched | w.peers->held : w.touched);
}

// Those of them that the executing lanes cannot speak for.
u32 silent_lanes(const Warp& w) {
  u32 out = touched_lanes(w) & ~w.mask;
  for (u32 rest = w.parted ? out & ~w.touched : 0; rest != 0; rest &= rest - 1) {
    const u32 lane = first_lane(rest);
    if (w.peers->last[lane] < known_of(w, lane)) out &= ~(1u << lane);
  }
  return out;
}

// The executing lanes know, each, what any of them knew, and what each of them did.
void join_lanes(Warp& w, Peers& peers) {
  std::array<u32, 32> joined{};
  for (u32 lane = 0; lane < 32; ++lane)
    joined[lane] = ((w.mask >> lane) & 1) != 0 ? w.clock : known_of(w, lane);
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) peers.known[first_lane(rest)] = joined;
}

}  // namespace

void lanes_ordered(Warp& w) {
  if ((w.live & ~w.mask) == 0) return warp_ordered(w);
  if (w.peers == nullptr) w.peers = std::make_unique<Peers>();
  Peers& peers = *w.peers;
  if (!w.parted) {
    for (auto& row : peers.known) row.fill(w.known[w.index]);
    peers.held = 0;
    w.parted = true;
  }
  for (u32 rest = w.touched & w.mask; rest != 0; rest &= rest - 1)
    peers.last[first_lane(rest)] = w.clock;
  peers.held |= w.touched & w.mask;
  w.touched &= ~w.mask;
  tick(w);
  join_lanes(w, peers);
  if ((w.mask & ~w.behind) != 0) w.behind &= ~w.mask;
}

void AsLane::change() {
  std::swap(warp_->known, warp_->before.known);
  std::swap(warp_->doubts, warp_->before.doubts);
  std::swap(warp_->beyond, warp_->before.beyond);
  std::swap(warp_->foreign, warp_->before.foreign);
  std::swap(warp_->assumed, warp_->before.assumed);
}

void release_to(Warp& w, ReleaseClock& to) {
  learn_foreign(to.foreign, w.foreign);
  learn_foreign(to.assumed, w.assumed);
  std::array<u32, 32> known = w.known;
  known[w.index] = w.clock;
  const u32 silent = w.block->cluster->blocks.size() > 1 ? 0 : silent_lanes(w);
  if (silent == 0) {
    merge(to.known, to.doubts, known, w.doubts);
  } else {
    std::vector<Doubt> doubts = w.doubts;
    doubts.resize(32);
    u32 from = w.clock;
    for (u32 rest = silent; rest != 0; rest &= rest - 1)
      from = std::min(from, known_of(w, first_lane(rest)));
    doubts[w.index] = {from, w.clock, silent, std::popcount(touched_lanes(w) & ~silent) <= 1};
    merge(to.known, to.doubts, known, doubts);
  }
  if (!w.block->beyond) return;
  share_own(w);
  merge(to.beyond, w.beyond);
}

void acquire_from(Warp& w, const ReleaseClock& from) {
  part(w, w.mask);
  if (w.behind != 0 && (w.live & ~w.mask) == 0) {
    const AsLane late(w, true);
    learn(w, from);
  }
  learn(w, from);
}

void merge_knowledge(ReleaseClock& into, const ReleaseClock& from) {
  merge(into.known, into.doubts, from.known, from.doubts);
  merge(into.beyond, from.beyond);
  learn_foreign(into.foreign, from.foreign);
  learn_foreign(into.assumed, from.assumed);
}

void fence_proxy(Warp& w) {
  if (!w.block->beyond) return;
  tick(w);
  share_own(w);
  merge(w.beyond.proxied, w.beyond.far);
  merge(w.beyond.drained, w.beyond.far);
  const u32 ordered = w.known[w.index];
  const u32 earlier = w.unfenced.to > ordered ? w.unfenced.lanes : full_mask;
  w.unfenced = {ordered, w.clock, silent_lanes(w) & earlier, false};
}

void drain_reads(Warp& w) {
  if (!w.block->beyond) return;
  const u32 own = 32 * w.block->rank + w.index;
  w.beyond.drained[own] = std::max(w.beyond.drained[own], w.clock);
}

u32 take_slot(Cluster& cluster) { return cluster.slots++; }

u32 add_mark(Cluster& cluster, const Mark& mark) {
  constexpr std::size_t most = std::min<std::size_t>(mark_end - mark_base, 1u << 24);
  if (cluster.marks.size() >= most) return 0;
  cluster.marks.push_back(mark);
  return static_cast<u32>(cluster.marks.size() - 1);
}

bool mark_ordered(const Warp& w, const Mark& mark) {
  if (mark.slot == 0 && !mark.far) return true;
  if (!mark.far)
    return mark.slot < w.beyond.seen.size() && mark.phase != phase_open &&
           w.beyond.seen[mark.slot] > mark.phase;
  if (mark.slot / 32 == w.block->rank)
    return mark.phase < w.known[mark.slot % 32] || mark.slot % 32 == w.index;
  return mark.slot < w.beyond.far.size() && mark.phase < w.beyond.far[mark.slot];
}

void observe(Warp& w, u32 lanes, u32 slot, u32 phases) {
  part(w, lanes);
  if (w.behind != 0 && (w.live & ~lanes) == 0) see(w.before.beyond, slot, phases);
  see(w.beyond, slot, phases);
}

}  // namespace cupilot::ptx
