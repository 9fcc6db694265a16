// What warps know of each other's past, and how barriers hand it on.
#include <algorithm>

#include "ptx/cluster.hpp"

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
  merge(into.seen, from.seen);
}

// The cluster-wide clocks of the warp's own block are those of `known`.
void share_own(Warp& w) {
  if (w.beyond.far.empty()) return;
  std::copy(w.known.begin(), w.known.end(), w.beyond.far.begin() + 32 * w.block->rank);
}

void take_own(Warp& w) {
  if (w.beyond.far.empty()) return;
  const u32* mine = w.beyond.far.data() + 32 * w.block->rank;
  for (u32 i = 0; i < 32; ++i) w.known[i] = std::max(w.known[i], mine[i]);
}

}  // namespace

void release_to(Warp& w, Knowledge& to) {
  for (u32 i = 0; i < 32; ++i) to.known[i] = std::max(to.known[i], w.known[i]);
  if (!w.block->beyond) return;
  share_own(w);
  merge(to.beyond, w.beyond);
}

void acquire_from(Warp& w, const Knowledge& from) {
  // It may have read before it learnt: at its present clock.
  w.heard = w.known[w.index] + 1;
  // Of barriers in other blocks only the cluster-wide clocks mean anything here.
  if (!w.block->beyond) {
    for (u32 i = 0; i < 32; ++i) w.known[i] = std::max(w.known[i], from.known[i]);
    return;
  }
  merge(w.beyond, from.beyond);
  take_own(w);
}

void merge_knowledge(Knowledge& into, const Knowledge& from) {
  for (u32 i = 0; i < 32; ++i) into.known[i] = std::max(into.known[i], from.known[i]);
  merge(into.beyond, from.beyond);
}

void fence_proxy(Warp& w) {
  if (!w.block->beyond) return;
  warp_ordered(w);
  share_own(w);
  merge(w.beyond.proxied, w.beyond.far);
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
  if (!mark.far) return mark.slot < w.beyond.seen.size() && mark.phase != phase_open && w.beyond.seen[mark.slot] > mark.phase;
  if (mark.slot / 32 == w.block->rank) return mark.phase < w.known[mark.slot % 32] || mark.slot % 32 == w.index;
  return mark.slot < w.beyond.far.size() && mark.phase < w.beyond.far[mark.slot];
}

void observe(Warp& w, u32 slot, u32 phases) {
  if (w.beyond.seen.size() <= slot) w.beyond.seen.resize(slot + 1, 0);
  w.beyond.seen[slot] = std::max(w.beyond.seen[slot], phases);
}

}  // namespace cupilot::ptx
