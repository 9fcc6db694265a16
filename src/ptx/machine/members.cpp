#include "ptx/machine/members.hpp"

#include <fmt/format.h>

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

using u32 = std::uint32_t;

bool one_group(const Warp& w, const u32* members) {
  const u32 there = w.present & ~w.exited;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) {
    if ((members[first_lane(rest)] & there) != w.mask) return false;
  }
  return true;
}

bool waits_for_others(Warp& w, const u32* members) {
  if (w.mask != w.active || w.mask == w.live) return false;
  u32 named = 0;
  for (u32 rest = w.mask; rest != 0; rest &= rest - 1) named |= members[first_lane(rest)];
  return (named & w.live & ~w.mask) != 0 && let_others_run(w, w.pc - 1, true);
}

LaneGroups member_groups(Warp& w, const Step& s, const u32* members) {
  const u32 there = w.present & ~w.exited;
  LaneGroups out;
  for (u32 rest = w.mask; rest != 0;) {
    const u32 lane = first_lane(rest), named = members[lane] & there;
    u32 alike = 0;
    for (u32 more = rest; more != 0; more &= more - 1) {
      const u32 other = first_lane(more);
      if ((members[other] & there) == named) alike |= 1u << other;
    }
    if (alike != named) {
      fault(w, s, lane, "run.divergence",
            fmt::format("a .sync instruction names lanes 0x{:08x} but lanes 0x{:08x} execute it "
                        "with that mask",
                        members[lane], alike));
      return {};
    }
    out.lanes[out.count++] = alike;
    rest &= ~alike;
  }
  return out;
}

}  // namespace cupilot::ptx
