// Order that release and acquire patterns hand on within a block: fences with strong accesses
// between them, or accesses that acquire and release themselves. Internal.
#pragma once

#include "ptx/machine/decode.hpp"
#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// Bits of Step::aux of ld, st, atom and red.
inline constexpr std::uint32_t acquires = 0x800, releases = 0x1000;
inline constexpr std::uint32_t states_order = 0x8000;  // by a qualifier, `.relaxed` too
// The bits that a form asks for, with that of its scope; notes in the program that threads may be
// ordered so.
std::uint32_t order_bits(Decoder& decoder);
bool decode_fence(Decoder& decoder, Step& step);

// Before and after an access by the executing lanes of which `orders` says yes. `older`: lanes that
// load an older value.
void before_strong(Warp& warp, const Step& step);
void after_strong(Warp& warp, const Step& step, const LaneAddresses& addresses, std::uint32_t bytes,
                  Intent intent, std::uint32_t older = 0);

inline bool orders(const Warp& warp, const Step& step, Intent intent) {
  const bool strong = intent == Intent::atomic || (step.flags & flag_strong) != 0;
  return strong && warp.block->program->orders_threads && (step.flags & space_mask) != space_local;
}

}  // namespace cupilot::ptx
