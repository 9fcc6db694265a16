#include "backend/counter_metrics.hpp"

#include <string_view>

namespace cupilot {
namespace {

#define CUPILOT_OP "smsp__sass_thread_inst_executed_op_"
#define CUPILOT_LSU "l1tex__t_sectors_pipe_lsu_mem_global_op_"
#define CUPILOT_LOADS "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_"
#define CUPILOT_PASSES "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"

// Half-precision instructions work on pairs, so the single ones among them count double; so do the constants that the assembler
// makes by them. Copies that bypass the first level are counted whole by the SM's own metrics alone.
constexpr MetricTerm hopper[] = {
    {Counter::warp_instructions, "smsp__inst_executed.sum"},
    {Counter::issue_slots, "smsp__inst_issued.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dadd_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dmul_pred_on.sum"},
    {Counter::flops_fp64, CUPILOT_OP "dfma_pred_on.sum", 2},
    {Counter::flops_fp64, "sm__ops_path_tensor_src_fp64.sum"},
    {Counter::flops_fp32, CUPILOT_OP "fadd_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "fmul_pred_on.sum"},
    {Counter::flops_fp32, CUPILOT_OP "ffma_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hadd_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hmul_pred_on.sum", 2},
    {Counter::flops_fp16, CUPILOT_OP "hfma_pred_on.sum", 4},
    {Counter::ops_tensor_bf16, "sm__ops_path_tensor_src_bf16_dst_fp32.sum"},
    {Counter::ops_tensor_fp16, "sm__ops_path_tensor_src_fp16.sum"},
    {Counter::ops_tensor_tf32, "sm__ops_path_tensor_src_tf32_dst_fp32.sum"},
    {Counter::ops_tensor_fp8, "sm__ops_path_tensor_src_fp8.sum"},
    {Counter::ops_tensor_int8, "sm__ops_path_tensor_src_int8.sum"},
    {Counter::integer_ops, CUPILOT_OP "integer_pred_on.sum"},
    {Counter::global_load_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {Counter::global_store_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {Counter::global_load_sectors, CUPILOT_LOADS "ld.sum"},
    {Counter::global_load_sectors, CUPILOT_LOADS "ldgsts.sum"},
    {Counter::global_load_sectors, "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"},
    {Counter::global_store_sectors, CUPILOT_LSU "st.sum"},
    {Counter::global_store_sectors, "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"},
    {Counter::atomic_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "atom.sum"},
    {Counter::atomic_sectors, CUPILOT_LSU "red.sum"},
    {Counter::atomic_sectors, "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum"},
    {Counter::shared_load_wavefronts, CUPILOT_PASSES "ld.sum"},
    {Counter::shared_load_wavefronts, CUPILOT_PASSES "ldsm.sum"},
    {Counter::shared_load_wavefronts, "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "st.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "stsm.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "atom.sum"},
    {Counter::shared_store_wavefronts, CUPILOT_PASSES "ldgsts.sum"},
    {Counter::l2_bytes, "lts__t_sectors_srcunit_tex.sum", 32},
    {Counter::dram_read_bytes, "dram__bytes_read.sum"},
    {Counter::dram_write_bytes, "dram__bytes_write.sum"},
};

}  // namespace

std::span<const MetricTerm> counter_metrics(const char* chip) {
  if (std::string_view(chip) == "GH100") return hopper;
  return {};
}

}  // namespace cupilot
