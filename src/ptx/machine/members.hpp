// Member masks of .sync instructions: each executing lane meets the lanes that its own mask names,
// so that one execution by a warp may be several by groups of its lanes. Internal.
#pragma once

#include "ptx/machine/machine.hpp"

namespace cupilot::ptx {

// Disjoint sets of the executing lanes.
struct LaneGroups {
  std::uint32_t count = 0;
  std::array<std::uint32_t, 32> lanes;
};

// True if the mask of every executing lane names just the executing lanes, exited ones aside.
bool one_group(const Warp& warp, const std::uint32_t* members);
// True if the executing lanes wait for lanes that a mask names and that have yet to come or end:
// these run first, then the instruction again.
bool waits_for_others(Warp& warp, const std::uint32_t* members);
// The lanes by what they name; a lane that names others than those who name the same is a fault and
// no groups.
LaneGroups member_groups(Warp& warp, const Step& step, const std::uint32_t* members);

// Calls `each` once a group with Warp::mask its lanes. The masks are read before anything is
// written.
template <class Each>
void for_each_group(Warp& warp, const Step& step, std::uint32_t mask_slot, Each each) {
  const std::uint32_t* members = warp.at<std::uint32_t>(mask_slot);
  if (one_group(warp, members)) return each(warp, step);
  if (waits_for_others(warp, members)) return;
  const std::uint32_t all = warp.mask;
  const LaneGroups groups = member_groups(warp, step, members);
  for (std::uint32_t i = 0; i < groups.count; ++i) {
    warp.mask = groups.lanes[i];
    each(warp, step);
  }
  warp.mask = all;
}

}  // namespace cupilot::ptx
