// What warps did with the cycles that they were resident, as a chip's schedulers count it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// By NVIDIA's names. Two are no waiting: `selected` issued, `not_selected` could have while another
// did.
enum class Stall {
  selected,
  not_selected,
  wait,                // out the fixed latency of its instruction before
  long_scoreboard,     // for global, local or texture memory
  short_scoreboard,    // for shared memory or special functions
  barrier,             // for the other warps of its block
  membar,              // for a memory fence
  math_pipe_throttle,  // for a pipe that computes
  gmma,                // for wgmma
  mio_throttle,        // for room in the queue of shared memory and special functions
  lg_throttle,         // for room in the queue of global and local memory
  tex_throttle,        // for room in the queue of the texture unit
  no_instruction,      // for the instruction to be fetched
  imc_miss,            // for a constant to be fetched
  branch_resolving,
  dispatch_stall,
  drain,  // for its stores, at its end
  sleeping,
  misc,
  count_  // how many there are
};
inline constexpr std::size_t stall_count = static_cast<std::size_t>(Stall::count_);
std::string_view name_of(Stall stall);

// Cycles added up over warps. Hardware counters alone know them: no interpreter does.
struct WarpCycles {
  double resident = 0;  // 0: not counted
  std::array<double, stall_count> spent{};
  double& operator[](Stall s) { return spent[static_cast<std::size_t>(s)]; }
  double operator[](Stall s) const { return spent[static_cast<std::size_t>(s)]; }
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
