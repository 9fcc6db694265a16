#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

struct Row {
  std::vector<std::string> words;
  std::map<std::string, std::int64_t> tile;
  std::int64_t split = 1;
};

std::vector<Use> uses_of(const Row& row) {
  std::vector<Use> uses = {{"gemv", row.tile, "", {}}};
  if (row.split > 1) uses.push_back({"split_k", {{"split", row.split}}, "", {}});
  return uses;
}

// The values come out as they went in, or the row would test another kernel than it says.
void check_kept(const Task& task, const std::vector<Use>& uses) {
  const auto space = make_space(task, virtual_h200().device(), builtin_tunables());
  REQUIRE(space);
  const auto completed = (*space)->complete(Strategy{uses, "", {}, "test"});
  REQUIRE(completed);
  for (const std::string& dropped : completed->dropped) FAIL(dropped);
}

TEST_CASE("skinny GEMMs are accepted in every layout, type and epilogue") {
  const auto row = GENERATE(values<Row>({
      // Several tiles of columns, a last one that is not full, a K that ends within a step.
      {{"m=1", "n=200", "k=328", "dtype=bf16"}, {{"rows", 8}, {"columns", 64}, {"warps", 4}, {"depth", 2}}},
      {{"m=13", "n=77", "k=520", "dtype=fp16", "layout=nt"}, {{"rows", 16}, {"columns", 32}, {"warps", 2}, {"depth", 3}}, 3},
      // More warps and depth than steps; more parts than are not empty.
      {{"m=9", "n=12", "k=40", "dtype=bf16"}, {{"rows", 8}, {"columns", 32}, {"warps", 4}, {"depth", 4}}, 4},
      {{"m=33", "n=68", "k=77", "dtype=bf16", "layout=tn", "batch=2", "alpha=2", "beta=0.5", "bias=1", "act=gelu"},
       {{"rows", 24}, {"columns", 16}, {"warps", 1}, {"depth", 1}},
       2},
      {{"m=40", "n=48", "k=96", "dtype=fp16", "layout=tt", "out=fp32"},
       {{"rows", 32}, {"columns", 64}, {"warps", 2}, {"depth", 1}}},
      {{"m=1", "n=68", "k=148", "dtype=fp32"}, {{"rows", 1}, {"columns", 32}, {"warps", 4}, {"depth", 4}}},
      {{"m=5", "n=33", "k=100", "dtype=fp32", "layout=nt", "batch=2"},
       {{"rows", 4}, {"columns", 64}, {"warps", 2}, {"depth", 1}},
       2},
  }));
  const Task task = gemm(row.words);
  const std::vector<Use> uses = uses_of(row);
  check_kept(task, uses);
  const CompiledKernel kernel = kernel_of(task, uses);
  CHECK(kernel.source.template_name == "gemm_skinny");
  std::vector<Case> cases(2);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[0].content = {5, ContentKind::ordinary};
  cases[1].content = {6, ContentKind::probe};
  const auto report = virtual_h200().run(task, kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults) UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

}  // namespace
}  // namespace cupilot
