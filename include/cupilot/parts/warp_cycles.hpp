// The warps' use of their resident cycles, as a chip's schedulers count it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Warp states by NVIDIA's names. All but two are waits: `selected` issued an instruction,
// `not_selected` was ready while another warp issued.
enum class Stall {
  selected,
  not_selected,
  wait,                // fixed latency of the previous instruction
  long_scoreboard,     // global, local or texture memory
  short_scoreboard,    // shared memory or special functions
  barrier,             // other warps of the block
  membar,              // memory fence
  math_pipe_throttle,  // arithmetic pipe
  gmma,                // wgmma
  mio_throttle,        // full queue of shared memory and special functions
  lg_throttle,         // full queue of global and local memory
  tex_throttle,        // full queue of the texture unit
  no_instruction,      // instruction fetch
  imc_miss,            // constant fetch
  branch_resolving,
  dispatch_stall,
  drain,  // stores at the warp's end
  sleeping,
  misc,
  count_  // number of states
};
inline constexpr std::size_t stall_count = static_cast<std::size_t>(Stall::count_);
std::string_view name_of(Stall stall);

// Cycles summed over warps, by hardware counters only; no interpreter counts them.
struct WarpCycles {
  double resident = 0;  // 0: not counted
  std::array<double, stall_count> spent{};
  double& operator[](Stall s) { return spent[static_cast<std::size_t>(s)]; }
  double operator[](Stall s) const { return spent[static_cast<std::size_t>(s)]; }
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
