// Estimates which sectors of a warp's loads are still in the first level of caches: those that one
// of its last loads brought, where a load takes but a part of each sector.
#pragma once

#include <array>
#include <cstdint>

namespace cupilot::ptx {

// The sectors of one warp, 4 KB of them: its share of the first level where an SM holds 64 warps.
class KeptSectors {
 public:
  // Begins a load.
  void begin() { ++now_; }
  // True if an earlier load than the one in progress brought the sector.
  bool keeps(std::uint64_t address) {
    const auto sector = static_cast<std::uint32_t>(address / 32);
    auto& set = sets_[(sector * 2654435769u) >> 28];
    Entry* oldest = set.data();
    for (Entry& one : set) {
      if (one.load != 0 && one.sector == sector) {
        const bool again = one.load == now_;
        one.load = now_;
        return !again;
      }
      if (one.load < oldest->load) oldest = &one;
    }
    *oldest = {sector, now_};
    return false;
  }
  void clear() {
    sets_.fill({});
    now_ = 0;
  }

 private:
  struct Entry {
    std::uint32_t sector = 0, load = 0;  // 0: empty
  };
  std::array<std::array<Entry, 8>, 16> sets_{};
  std::uint32_t now_ = 0;
};

}  // namespace cupilot::ptx
