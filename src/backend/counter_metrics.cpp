#include "backend/counter_metrics.hpp"

#include <string_view>

namespace cupilot {
namespace {

#define CUPILOT_OP "smsp__sass_thread_inst_executed_op_"
#define CUPILOT_LSU "l1tex__t_sectors_pipe_lsu_mem_global_op_"

// Volta's successors up to Hopper share most names; what a chip lacks is left to its own table.
constexpr MetricTerm common[] = {
    {Counter::warp_instructions, "smsp__inst_executed.sum"},
    {Counter::issue_slots, "smsp__inst_issued.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dadd_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dmul_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dfma_pred_on.sum", 2},
    {Counter::flops_fp32, CUPILOT_OP "fadd_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "fmul_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "ffma_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hadd_pred_on.sum"},
    {Counter::flops_fp16, CUPILOT_OP "hmul_pred_on.sum"},
    {Counter::flops_fp16, CUPILOT_OP "hfma_pred_on.sum", 2},
    {Counter::global_load_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {Counter::global_store_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {Counter::global_load_sectors, CUPILOT_LSU "ld.sum"},
    {Counter::global_store_sectors, CUPILOT_LSU "st.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "atom.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "red.sum"},
    {Counter::shared_load_wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    {Counter::shared_store_wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
    {Counter::l2_bytes, "lts__t_sectors_srcunit_tex.sum", 32},
    {Counter::dram_read_bytes, "dram__bytes_read.sum"},
    {Counter::dram_write_bytes, "dram__bytes_write.sum"},
};

}  // namespace

std::span<const MetricTerm> counter_metrics(const char* chip) {
  const std::string_view name(chip);
  for (const std::string_view known : {"GA100", "GA102", "AD102", "AD104", "GH100"}) {
    if (name == known) return common;
  }
  return {};
}

}  // namespace cupilot
