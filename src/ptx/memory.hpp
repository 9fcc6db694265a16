// Addresses of a warp to host memory, with every check. Internal.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/decode.hpp"
#include "ptx/machine.hpp"

namespace cupilot::ptx {

enum class Intent : std::uint8_t { load, store, atomic };

struct LaneAddresses {
  alignas(64) std::uint64_t at[32];
};
// Host memory of each lane; only executing lanes' entries mean anything.
struct LanePointers {
  std::uint8_t* at[32];
};

// base + offset of every lane, by the step's flags; `slot` is the address operand.
void lane_addresses(const Warp& warp, const Step& step, std::uint32_t slot, LaneAddresses& out);

// Resolves `bytes` at each lane's address for the lanes of `mask`; a bad one is a fault and false. Counts requests, sectors
// and wavefronts, and marks what a store initialises.
bool resolve(Warp& warp, const Step& step, std::uint8_t space, std::uint32_t mask, const LaneAddresses& addresses,
             std::uint32_t bytes, Intent intent, LanePointers& out);

// Shared memory: `offsets` count from shared_base.
bool resolve_shared(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses, std::uint32_t bytes,
                    Intent intent, LanePointers& out);

// Shadow of shared memory, used by resolve_shared, ldmatrix and cp.async.
bool check_shared_read(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes, bool strong);
bool check_shared_write(Warp& warp, const Step& step, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes, bool strong);
void stamp_shared_write(Warp& warp, std::uint32_t lane, std::uint32_t offset, std::uint32_t bytes, bool strong);

// Passes that the pattern of addresses needs; remembered for the step.
PatternMemo& pattern_of(Warp& warp, const Step& step, std::uint32_t mask, const LaneAddresses& addresses, std::uint32_t bytes,
                        bool shared);

// An atomic on global memory whose result is used makes blocks depend on each other.
void note_returning_atomic(Warp& warp, const Step& step, const LaneAddresses& addresses);

inline void count_up(Warp& warp, Counter counter, std::uint64_t by) {
  warp.block->worker->totals[static_cast<std::size_t>(counter)] += by;
}
inline std::uint32_t first_lane(std::uint32_t mask) { return static_cast<std::uint32_t>(__builtin_ctz(mask)); }

}  // namespace cupilot::ptx
