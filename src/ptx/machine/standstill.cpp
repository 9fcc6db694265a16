#include "ptx/machine/standstill.hpp"

#include <algorithm>
#include <cstring>

#include "ptx/machine/mixed.hpp"

namespace cupilot::ptx {
namespace {

constexpr std::uint32_t rounds_between_looks = 256;
// Every 64th asking lets other lanes run, of at most 32 groups: each group asks twice so often. An
// older value is given to a strong load a few times at most.
constexpr std::uint32_t enough = 2 * 64 * 32;

std::uint64_t changes(const Worker& worker) {
  std::uint64_t sum = worker.changed + worker.blocks;
  for (const std::uint32_t step : worker.launch->program->changing)
    sum += worker.counts[step].warps;
  return sum;
}

std::uint64_t digest(const Warp& warp) {
  std::uint64_t sum = mixed(warp.carry ^ std::uint64_t{warp.live} << 32);
  for (std::uint32_t i = 0; i <= warp.depth; ++i) {
    const Frame& frame = warp.frames[i];
    const std::uint32_t bytes = warp.block->program->codes[frame.code].frame_bytes;
    for (std::uint32_t at = 0; at + 8 <= bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, frame.regs + at, 8);
      sum = ((sum << 7 | sum >> 57) ^ word) * 0x9e3779b97f4a7c15ull;
    }
  }
  return sum;
}

// Adds the warps of a cluster that can run; false: one of them does not ask, or something else may
// come.
bool add_asking(const Cluster& cluster, std::vector<Warp*>& asking) {
  if (!cluster.pending.empty()) return false;
  for (const auto& block : cluster.blocks) {
    for (Warp& warp : block->warps) {
      if (warp.state == WarpState::done || warp.state == WarpState::waiting) continue;
      if (warp.state == WarpState::polling || !warp.gave_way) return false;
      asking.push_back(&warp);
    }
  }
  return true;
}

}  // namespace

Warp* standing_still(Standstill& last, const std::vector<std::unique_ptr<Cluster>>& alive) {
  if (++last.rounds < rounds_between_looks) return nullptr;
  last.rounds = 0;
  std::vector<Warp*> asking;
  const bool all = std::all_of(alive.begin(), alive.end(),
                               [&](const auto& cluster) { return add_asking(*cluster, asking); });
  if (!all || asking.empty()) {
    last.asked.clear();
    return nullptr;
  }
  const std::uint64_t written = changes(*alive.front()->worker);
  std::uint64_t registers = 0;
  for (const Warp* warp : asking) registers = mixed(registers + digest(*warp));
  // Lanes that ask in several places by turns begin to count anew at each turn.
  const auto goes_on = [](const Warp* warp, const Standstill::Asked& before) {
    return warp->asked == before.step && warp->asked_again >= before.again;
  };
  if (last.written == written && last.registers == registers &&
      std::equal(asking.begin(), asking.end(), last.asked.begin(), last.asked.end(), goes_on)) {
    for (std::size_t i = 0; i < asking.size(); ++i) {
      if (asking[i]->asked_again - last.asked[i].again < enough) return nullptr;
    }
    return asking.front();
  }
  last.written = written;
  last.registers = registers;
  last.asked.clear();
  for (const Warp* warp : asking) last.asked.push_back({warp->asked, warp->asked_again});
  return nullptr;
}

}  // namespace cupilot::ptx
