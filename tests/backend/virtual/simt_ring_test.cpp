#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

Use use(const char* technique, std::map<std::string, std::int64_t> values = {}) {
  return {technique, std::move(values), "", {}};
}

TEST_CASE(
    "fp32 GEMMs fed by tensor maps are accepted in every layout, tile and epilogue, in early and "
    "late mode",
    "[templates]") {
  struct Row {
    std::vector<std::string> words;
    std::vector<Use> uses;
  };
  const auto row = GENERATE(values<Row>({
      {{"m=136", "n=72", "k=101", "dtype=fp32"},
       {use("block_tile", {{"block_m", 64}, {"block_n", 64}}),
        use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 4}}),
        use("lane_grid", {{"lanes_m", 4}}), use("k_slab", {{"block_k", 16}}),
        use("multistage", {{"stages", 2}})}},
      {{"m=132", "n=260", "k=75", "dtype=fp32", "layout=tn"},
       {use("block_tile", {{"block_m", 128}, {"block_n", 256}}),
        use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 16}}),
        use("lane_grid", {{"lanes_m", 4}}), use("k_slab", {{"block_k", 8}}),
        use("multistage", {{"stages", 3}})}},
      {{"m=61", "n=67", "k=37", "dtype=fp32", "layout=nt", "batch=2", "alpha=2", "beta=0.5",
        "bias=1", "act=gelu"},
       {use("block_tile", {{"block_m", 128}, {"block_n", 32}}),
        use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 4}}),
        use("lane_grid", {{"lanes_m", 4}}), use("k_slab", {{"block_k", 16}}),
        use("multistage", {{"stages", 2}})}},
      {{"m=68", "n=130", "k=97", "dtype=fp32", "layout=tt"},
       {use("block_tile", {{"block_m", 64}, {"block_n", 128}}),
        use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 8}}),
        use("lane_grid", {{"lanes_m", 8}}), use("k_slab", {{"block_k", 32}}),
        use("multistage", {{"stages", 4}}), use("serpentine"), use("column_runs")}},
  }));
  const Task task = gemm(row.words);
  check_kept(task, row.uses);
  const CompiledKernel kernel = kernel_of(task, row.uses);
  CHECK(kernel.source.template_name == "gemm_simt_ring");
  // Seed and content decide whether copies come early or late: of these, every other one late.
  std::vector<Case> cases(4);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[0].content = {5, ContentKind::ordinary};
  cases[1].content = {6, ContentKind::ordinary};
  cases[2].content = {6, ContentKind::probe};
  cases[3].content = {7, ContentKind::probe};
  const auto report = virtual_h200().run(TaskRef(task), kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

}  // namespace
}  // namespace cupilot
