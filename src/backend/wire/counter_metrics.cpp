#include "backend/wire/counter_metrics.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cupilot {
namespace {

#define CUPILOT_OP "smsp__sass_thread_inst_executed_op_"
#define CUPILOT_LSU "l1tex__t_sectors_pipe_lsu_mem_global_op_"
#define CUPILOT_LOADS "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_"
#define CUPILOT_PASSES "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
#define CUPILOT_TENSOR "sm__ops_path_tensor_src_"

// Half-precision instructions work on pairs, so the single ones among them count double; so do the
// constants that the assembler makes by them. Copies that bypass the first level are counted whole
// by the SM's own metrics alone.
constexpr std::array every_chip = std::to_array<MetricTerm>({
    {Counter::warp_instructions, "smsp__inst_executed.sum"},
    {Counter::issue_slots, "smsp__inst_issued.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dadd_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dmul_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dfma_pred_on.sum", 2},
    {Counter::flops_fp64, CUPILOT_TENSOR "fp64.sum"},
    {Counter::flops_fp32, CUPILOT_OP "fadd_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "fmul_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "ffma_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hadd_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hmul_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hfma_pred_on.sum", 4},
    {Counter::ops_tensor_bf16, CUPILOT_TENSOR "bf16_dst_fp32.sum"},
    {Counter::ops_tensor_tf32, CUPILOT_TENSOR "tf32_dst_fp32.sum"},
    {Counter::ops_tensor_int8, CUPILOT_TENSOR "int8.sum"},
    {Counter::integer_ops, CUPILOT_OP "integer_pred_on.sum"},
    {Counter::global_load_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {Counter::global_store_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {Counter::global_load_sectors, CUPILOT_LOADS "ld.sum"},
    {Counter::global_load_sectors, CUPILOT_LOADS "ldgsts.sum"},
    {Counter::global_store_sectors, CUPILOT_LSU "st.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "atom.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "red.sum"},
    {Counter::shared_load_wavefronts, CUPILOT_PASSES "ld.sum"},
    {Counter::shared_load_wavefronts, CUPILOT_PASSES "ldsm.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "st.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "atom.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "ldgsts.sum"},
    {Counter::l2_bytes, "lts__t_sectors_srcunit_tex.sum", 32},
});

constexpr std::array dram = std::to_array<MetricTerm>({
    {Counter::dram_read_bytes, "dram__bytes_read.sum"},
    {Counter::dram_write_bytes, "dram__bytes_write.sum"},
});
constexpr std::array dram_by_op = std::to_array<MetricTerm>({
    {Counter::dram_read_bytes, "dram__bytes_op_read.sum"},
    {Counter::dram_write_bytes, "dram__bytes_op_write.sum"},
});
// The bulk tensor copies and stmatrix of sm_90 and later.
constexpr std::array bulk_copies = std::to_array<MetricTerm>({
    {Counter::global_load_sectors, "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"},
    {Counter::global_store_sectors, "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum"},
    {Counter::atomic_sectors, "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "stsm.sum"},
});
constexpr std::array gmma = std::to_array<MetricTerm>({
    {Counter::shared_load_wavefronts,
     "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"},
    {Counter::ops_tensor_fp16, CUPILOT_TENSOR "fp16.sum"},
});
constexpr std::array fp16_by_sum = std::to_array<MetricTerm>({
    {Counter::ops_tensor_fp16, CUPILOT_TENSOR "fp16_dst_fp16.sum"},
    {Counter::ops_tensor_fp16, CUPILOT_TENSOR "fp16_dst_fp32.sum"},
});
constexpr std::array fp8 =
    std::to_array<MetricTerm>({{Counter::ops_tensor_fp8, CUPILOT_TENSOR "fp8.sum"}});
// Narrower types share the monitor with fp8.
constexpr std::array fp8_or_less = std::to_array<MetricTerm>({
    {Counter::ops_tensor_fp8, CUPILOT_TENSOR "fp4_fp6_fp8_dst_fp16.sum"},
    {Counter::ops_tensor_fp8, CUPILOT_TENSOR "fp4_fp6_fp8_dst_fp32.sum"},
});
constexpr std::array fp8_by_sum = std::to_array<MetricTerm>({
    {Counter::ops_tensor_fp8, CUPILOT_TENSOR "fp8_dst_fp16.sum"},
    {Counter::ops_tensor_fp8, CUPILOT_TENSOR "fp8_dst_fp32.sum"},
});

#define CUPILOT_STALL(name) \
  { Stall::name, "smsp__warps_issue_stalled_" #name ".sum" }
// The longest list; the chips before Hopper and after it lack the last ones.
constexpr std::array stalls = std::to_array<StallMetric>(
    {CUPILOT_STALL(selected), CUPILOT_STALL(not_selected), CUPILOT_STALL(wait),
     CUPILOT_STALL(long_scoreboard), CUPILOT_STALL(short_scoreboard), CUPILOT_STALL(barrier),
     CUPILOT_STALL(membar), CUPILOT_STALL(math_pipe_throttle), CUPILOT_STALL(mio_throttle),
     CUPILOT_STALL(lg_throttle), CUPILOT_STALL(tex_throttle), CUPILOT_STALL(no_instruction),
     CUPILOT_STALL(branch_resolving), CUPILOT_STALL(dispatch_stall), CUPILOT_STALL(drain),
     CUPILOT_STALL(sleeping), CUPILOT_STALL(misc), CUPILOT_STALL(imc_miss), CUPILOT_STALL(gmma)});

using Part = std::span<const MetricTerm>;

struct Family {
  std::string_view prefix;  // of the names of its chips
  std::vector<Part> parts;
  std::size_t stalls_lacking;  // of the end of the list
};

// The first whose prefix fits.
const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"GA10", {every_chip, dram, fp16_by_sum}, 1},
      {"AD10", {every_chip, dram, fp16_by_sum, fp8}, 1},
      {"GH100", {every_chip, dram, bulk_copies, gmma, fp8}, 0},
      {"GB10", {every_chip, dram, bulk_copies, fp16_by_sum, fp8_or_less}, 2},
      {"GB20", {every_chip, dram_by_op, bulk_copies, fp16_by_sum, fp8_by_sum}, 2},
  };
  return all;
}

// Its place among them; their number: none.
std::size_t family_of(std::string_view chip) {
  const auto found = std::find_if(families().begin(), families().end(), [&](const Family& family) {
    return chip.substr(0, family.prefix.size()) == family.prefix;
  });
  return static_cast<std::size_t>(found - families().begin());
}

std::vector<MetricTerm> joined(const std::vector<Part>& parts) {
  std::vector<MetricTerm> terms;
  for (const Part& part : parts) terms.insert(terms.end(), part.begin(), part.end());
  return terms;
}

constexpr CounterMask traffic = mask_of(Counter::warp_instructions) |
                                mask_of(Counter::issue_slots) | mask_of(Counter::l2_bytes) |
                                mask_of(Counter::dram_read_bytes) |
                                mask_of(Counter::dram_write_bytes);
// Read together with a plain pipe's operations, in the same run.
constexpr CounterMask shared =
    mask_of(Counter::shared_load_wavefronts) | mask_of(Counter::shared_store_wavefronts);

CounterMask operations_of(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return mask_of(Counter::flops_fp64);
    case Precision::fp32_emulated:
    case Precision::tf32:
      return mask_of(Counter::ops_tensor_tf32);
    case Precision::bf16x3:
    case Precision::bf16:
      return mask_of(Counter::ops_tensor_bf16);
    case Precision::fp16:
      return mask_of(Counter::ops_tensor_fp16);
    case Precision::fp8_promoted:
    case Precision::fp8:
      return mask_of(Counter::ops_tensor_fp8);
    case Precision::integer:
      return mask_of(Counter::integer_ops) | shared;
    default:
      return mask_of(Counter::flops_fp32) | shared;
  }
}

}  // namespace

std::span<const MetricTerm> counter_metrics(std::string_view chip) {
  static const std::vector<std::vector<MetricTerm>> tables = [] {
    std::vector<std::vector<MetricTerm>> made;
    for (const Family& family : families()) made.push_back(joined(family.parts));
    return made;
  }();
  const std::size_t place = family_of(chip);
  return place < tables.size() ? std::span<const MetricTerm>(tables[place])
                               : std::span<const MetricTerm>();
}

std::span<const StallMetric> stall_metrics(std::string_view chip) {
  const std::size_t place = family_of(chip);
  if (place == families().size()) return {};
  return std::span(stalls).first(stalls.size() - families()[place].stalls_lacking);
}

CounterMask counters_of(CountDepth depth, Precision precision) {
  if (depth == CountDepth::all) return ~CounterMask{0};
  // fp16's tensor operations alone take two runs of a GH100, and leave no room for both counts of
  // instructions.
  const CounterMask left_out = precision == Precision::fp16 ? mask_of(Counter::issue_slots) : 0;
  return (traffic & ~left_out) | operations_of(precision);
}

std::vector<std::string> metrics_of(std::string_view chip, CounterMask counters) {
  std::vector<std::string> names;
  for (const MetricTerm& term : counter_metrics(chip)) {
    if ((counters & mask_of(term.counter)) == 0) continue;
    if (std::find(names.begin(), names.end(), term.metric) == names.end())
      names.emplace_back(term.metric);
  }
  const auto waits =
      (counters & stalls_bit) != 0 ? stall_metrics(chip) : std::span<const StallMetric>();
  for (const StallMetric& term : waits) names.emplace_back(term.metric);
  if (!waits.empty()) names.emplace_back(resident_metric);
  return names;
}

}  // namespace cupilot
