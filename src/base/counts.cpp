#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/warp_cycles.hpp>

namespace cupilot {

std::string_view name_of(Counter counter) {
  static constexpr std::string_view names[] = {"warp_instructions",
                                               "issue_slots",
                                               "flops_fp64",
                                               "flops_fp32",
                                               "flops_fp16",
                                               "ops_tensor_bf16",
                                               "ops_tensor_fp16",
                                               "ops_tensor_tf32",
                                               "ops_tensor_fp8",
                                               "ops_tensor_int8",
                                               "integer_ops",
                                               "special_ops",
                                               "global_load_requests",
                                               "global_store_requests",
                                               "global_load_sectors",
                                               "global_store_sectors",
                                               "atomic_requests",
                                               "atomic_sectors",
                                               "shared_load_wavefronts",
                                               "shared_store_wavefronts",
                                               "shared_conflicts",
                                               "async_copy_bytes",
                                               "barriers",
                                               "divergent_branches",
                                               "local_bytes",
                                               "l2_bytes",
                                               "dram_read_bytes",
                                               "dram_write_bytes",
                                               "blocks"};
  static_assert(std::size(names) == counter_count);
  return names[static_cast<std::size_t>(counter)];
}

std::string_view name_of(Stall stall) {
  static constexpr std::string_view names[] = {"selected",
                                               "not_selected",
                                               "wait",
                                               "long_scoreboard",
                                               "short_scoreboard",
                                               "barrier",
                                               "membar",
                                               "math_pipe_throttle",
                                               "gmma",
                                               "mio_throttle",
                                               "lg_throttle",
                                               "tex_throttle",
                                               "no_instruction",
                                               "imc_miss",
                                               "branch_resolving",
                                               "dispatch_stall",
                                               "drain",
                                               "sleeping",
                                               "misc"};
  static_assert(std::size(names) == stall_count);
  return names[static_cast<std::size_t>(stall)];
}

std::string_view name_of(CountHow how) {
  static constexpr std::string_view names[] = {"unknown", "exact", "sampled", "extrapolated",
                                               "estimated"};
  return names[static_cast<std::size_t>(how)];
}

std::string_view name_of(CounterSource source) {
  static constexpr std::string_view names[] = {"", "counters", "virtual", "ptx", "analytic"};
  return names[static_cast<std::size_t>(source)];
}

std::string_view name_of(Provenance provenance) {
  static constexpr std::string_view names[] = {"measured", "modelled", "reported"};
  return names[static_cast<std::size_t>(provenance)];
}

}  // namespace cupilot
