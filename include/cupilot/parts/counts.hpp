// Counted work of a kernel's run, each number with its interval and its origin.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

enum class Counter {
  warp_instructions,  // issued
  issue_slots,        // including replays by the time model
  flops_fp64,
  flops_fp32,
  flops_fp16,  // multiply-add = 2
  ops_tensor_bf16,
  ops_tensor_fp16,
  ops_tensor_tf32,
  ops_tensor_fp8,
  ops_tensor_int8,
  integer_ops,  // thread operations
  special_ops,  // ex2, lg2, rcp, rsqrt, sin, cos, tanh: thread operations
  global_load_requests,
  global_store_requests,  // warp instructions
  global_load_sectors,
  global_store_sectors,  // 32 bytes each
  atomic_requests,       // on global memory, reductions among them
  atomic_sectors,
  shared_load_wavefronts,
  shared_store_wavefronts,  // 128-byte passes, conflicts included
  shared_conflicts,         // passes beyond the least possible
  async_copy_bytes,  // global to shared without registers; also in the sectors and wavefronts above
  barriers,          // warp arrivals at CTA barriers
  divergent_branches,
  local_bytes,
  l2_bytes,  // SM side
  dram_read_bytes,
  dram_write_bytes,
  blocks,  // CTAs launched
  count_   // number of counters
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count_);
std::string_view name_of(Counter counter);

enum class CountHow { unknown, exact, sampled, extrapolated, estimated };
std::string_view name_of(CountHow how);

struct Count {
  double value = 0, low = 0, high = 0;
  CountHow how = CountHow::unknown;
};

// Sources of counts, the best first: hardware counters, the interpreter of the virtual device,
// instructions of the PTX, the task's own work.
enum class CounterSource { none, counters, interpreted, ptx, analytic };
// "" (none), "counters", "virtual", "ptx", "analytic"
std::string_view name_of(CounterSource source);

struct Counts {
  std::array<Count, counter_count> all{};
  Count& operator[](Counter c) { return all[static_cast<std::size_t>(c)]; }
  const Count& operator[](Counter c) const { return all[static_cast<std::size_t>(c)]; }
  CounterSource source = CounterSource::none;
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
