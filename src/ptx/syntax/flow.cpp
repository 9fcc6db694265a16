#include "ptx/syntax/flow.hpp"

#include <algorithm>
#include <utility>

namespace cupilot::ptx {
namespace {

constexpr std::uint32_t unset = 0xffffffffu;

// Straight runs are folded into blocks first: the fixpoint then works on few nodes.
struct Blocks {
  std::vector<std::uint32_t> block_of;  // node -> block
  std::vector<std::uint32_t> last;      // block -> its last node
  std::vector<std::vector<std::uint32_t>> next, before;
};

Blocks fold(const std::vector<std::vector<std::uint32_t>>& successors) {
  const auto n = static_cast<std::uint32_t>(successors.size());
  std::vector<char> leader(n, 0);
  leader[0] = leader[n - 1] = 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool falls = successors[i].size() == 1 && successors[i][0] == i + 1;
    if (falls) continue;
    for (std::uint32_t s : successors[i]) leader[s] = 1;
    if (i + 1 < n) leader[i + 1] = 1;
  }
  Blocks out;
  out.block_of.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (leader[i]) out.last.push_back(i);
    out.block_of[i] = static_cast<std::uint32_t>(out.last.size() - 1);
    out.last.back() = i;
  }
  out.next.resize(out.last.size());
  out.before.resize(out.last.size());
  for (std::uint32_t b = 0; b < out.last.size(); ++b) {
    for (std::uint32_t s : successors[out.last[b]]) {
      out.next[b].push_back(out.block_of[s]);
      out.before[out.block_of[s]].push_back(b);
    }
  }
  return out;
}

// Blocks in post-order of a walk from the exit against the edges.
std::vector<std::uint32_t> reverse_order(const Blocks& blocks) {
  const auto exit = static_cast<std::uint32_t>(blocks.last.size() - 1);
  std::vector<std::uint32_t> order;
  std::vector<char> seen(blocks.last.size(), 0);
  std::vector<std::pair<std::uint32_t, std::size_t>> walk{{exit, 0}};
  seen[exit] = 1;
  while (!walk.empty()) {
    auto& [block, at] = walk.back();
    if (at == blocks.before[block].size()) {
      order.push_back(block);
      walk.pop_back();
      continue;
    }
    const std::uint32_t p = blocks.before[block][at++];
    if (!seen[p]) {
      seen[p] = 1;
      walk.emplace_back(p, 0);
    }
  }
  return order;
}

}  // namespace

std::vector<std::uint32_t> post_dominators(
    const std::vector<std::vector<std::uint32_t>>& successors) {
  const auto n = static_cast<std::uint32_t>(successors.size());
  const Blocks blocks = fold(successors);
  const auto exit = static_cast<std::uint32_t>(blocks.last.size() - 1);
  const std::vector<std::uint32_t> order = reverse_order(blocks);
  std::vector<std::uint32_t> rank(blocks.last.size(), unset), dominator(blocks.last.size(), unset);
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  dominator[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const std::uint32_t b = *it;
      if (b == exit) continue;
      std::uint32_t meet = unset;
      for (std::uint32_t s : blocks.next[b]) {
        if (dominator[s] == unset) continue;
        std::uint32_t x = meet == unset ? s : meet, y = s;
        while (x != y) {
          while (rank[x] < rank[y]) x = dominator[x];
          while (rank[y] < rank[x]) y = dominator[y];
        }
        meet = x;
      }
      if (meet != unset && dominator[b] != meet) {
        dominator[b] = meet;
        changed = true;
      }
    }
  }
  std::vector<std::uint32_t> out(n, n - 1);
  std::vector<std::uint32_t> first(blocks.last.size(), 0);
  for (std::uint32_t b = 1; b < blocks.last.size(); ++b) first[b] = blocks.last[b - 1] + 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t b = blocks.block_of[i];
    out[i] = i != blocks.last[b] ? i + 1 : dominator[b] == unset ? n - 1 : first[dominator[b]];
  }
  return out;
}

}  // namespace cupilot::ptx
