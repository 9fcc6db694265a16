// The stamp of a cell's last write. Internal.
#pragma once

#include <cstdint>

namespace cupilot::ptx {

// Bit 31 strong, bits 10..30 clock, bits 0..9 thread. Of reads: reader_stamp.hpp.
// Clocks from mark_base on make bits 0..30 of a writer's stamp a mark of the cluster instead.
inline constexpr std::uint32_t clock_max = 0xffff0u;
inline constexpr std::uint32_t mark_base = 0x180000u << 10;
inline constexpr std::uint32_t mark_end = 0x1ffff0u << 10;
inline constexpr std::uint32_t stamp_never = 0x1fffffu << 10;  // nobody wrote
inline constexpr std::uint32_t clock_pending =
    0x1ffffeu;  // an asynchronous copy not yet waited for
inline constexpr std::uint32_t stamp_barrier = 0x1ffffcu << 10;  // the words of an mbarrier
inline constexpr std::uint32_t stamp_gap = 0x1ffffdu << 10;      // between two variables
inline std::uint32_t stamp_clock(std::uint32_t stamp) { return (stamp >> 10) & 0x1fffffu; }

}  // namespace cupilot::ptx
