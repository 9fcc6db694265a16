// Tells what a block loads again from the order of its loads.
#pragma once

#include <cstdint>
#include <span>

namespace cupilot {

// Sums over loads of lines that were loaded before, of the numbers of other lines loaded in between
// and their squares.
struct RereadSums {
  double spans = 0, squares = 0;

  // Lines that are loaded again, and how many others lie between, where a load counts by these: a
  // line that comes from a cache beside the SM anyway counts for little.
  double lines() const { return squares > 0 ? spans * spans / squares : 0; }
  double span() const { return spans > 0 ? squares / spans : 0; }
};

// Adds the loads of `lines`, in their order, without those of `others` (ascending).
void add_rereads(std::span<const std::uint64_t> lines, std::span<const std::uint64_t> others,
                 RereadSums& sums);

}  // namespace cupilot
