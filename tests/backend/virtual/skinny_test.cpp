#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using Values = std::map<std::string, std::int64_t>;

Use use(const char* technique, Values values = {}) {
  return {technique, std::move(values), "", {}};
}

// A strategy that streams B through registers, and one that swaps operands.
std::vector<Use> streamed(Values tile, std::int64_t split = 1) {
  tile["split"] = split;
  return {use("gemv", std::move(tile))};
}
std::vector<Use> swapped(std::int64_t rows, std::int64_t consumers, std::int64_t stages,
                         std::int64_t split = 1) {
  return {use("swap_operands", {{"rows", rows}, {"stages", stages}, {"split", split}}),
          use("warp_specialisation", {{"consumers", consumers}})};
}

// Two cases, one with copies and products as early as they may be and one as late.
void check_accepted(const std::vector<std::string>& words, const std::vector<Use>& uses,
                    const std::string& name) {
  const Task task = gemm(words);
  check_kept(task, uses);
  const CompiledKernel kernel = kernel_of(task, uses);
  CHECK(kernel.source.template_name == name);
  std::vector<Case> cases(2);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[0].content = {5, ContentKind::ordinary};
  cases[1].content = {6, ContentKind::probe};
  const auto report = virtual_h200().run(TaskRef(task), kernel, cases);
  REQUIRE(report);
  for (const CaseReport& one : report->cases) {
    for (const Fault& fault : one.faults)
      UNSCOPED_INFO(fault.code << ": " << fault.message << " " << fault.where);
  }
  CHECK(verdict_of(report).empty());
}

struct Row {
  std::vector<std::string> words;
  std::vector<Use> uses;
};

TEST_CASE("GEMMs that stream B through registers are accepted in every layout, type and epilogue",
          "[templates]") {
  const auto row = GENERATE(values<Row>({
      // Several tiles of columns, a last one that is not full, a K that ends within a step.
      {{"m=1", "n=200", "k=328", "dtype=bf16"},
       streamed({{"rows", 8}, {"columns", 64}, {"warps", 4}, {"depth", 2}})},
      {{"m=13", "n=77", "k=520", "dtype=fp16", "layout=nt"},
       streamed({{"rows", 16}, {"columns", 32}, {"warps", 2}, {"depth", 3}}, 3)},
      // More warps and depth than steps; more parts than are not empty.
      {{"m=9", "n=12", "k=40", "dtype=bf16"},
       streamed({{"rows", 8}, {"columns", 32}, {"warps", 4}, {"depth", 4}}, 4)},
      {{"m=33", "n=68", "k=77", "dtype=bf16", "layout=tn", "batch=2", "alpha=2", "beta=0.5",
        "bias=1", "act=gelu"},
       streamed({{"rows", 24}, {"columns", 16}, {"warps", 1}, {"depth", 1}}, 2)},
      {{"m=40", "n=48", "k=96", "dtype=fp16", "layout=tt", "out=fp32"},
       streamed({{"rows", 32}, {"columns", 64}, {"warps", 2}, {"depth", 1}})},
      {{"m=1", "n=68", "k=148", "dtype=fp32"},
       streamed({{"rows", 1}, {"columns", 32}, {"warps", 4}, {"depth", 4}})},
      {{"m=5", "n=33", "k=100", "dtype=fp32", "layout=nt", "batch=2"},
       streamed({{"rows", 4}, {"columns", 64}, {"warps", 2}, {"depth", 1}}, 2)},
  }));
  check_accepted(row.words, row.uses, "gemm_skinny");
}

TEST_CASE(
    "GEMMs of swapped operands are accepted in every layout, type and epilogue, in early and late "
    "mode",
    "[templates]") {
  const auto row = GENERATE(values<Row>({
      {{"m=1", "n=136", "k=328", "dtype=bf16"}, swapped(8, 1, 3)},
      // A cluster whose last part is shorter than the others; one that would have empty parts.
      {{"m=16", "n=200", "k=520", "dtype=bf16"}, swapped(16, 1, 4, 4)},
      {{"m=21", "n=60", "k=136", "dtype=fp16", "layout=nt"}, swapped(24, 2, 3, 8)},
      {{"m=72", "n=72", "k=200", "dtype=bf16", "layout=tt", "batch=2", "alpha=2", "beta=0.5",
        "bias=1", "act=gelu"},
       swapped(48, 1, 3, 2)},
      {{"m=64", "n=264", "k=72", "dtype=fp16", "layout=tn", "out=fp32"}, swapped(64, 3, 3)},
      {{"m=9", "n=72", "k=100", "dtype=fp32", "precision=tf32", "layout=nt"}, swapped(16, 1, 4, 2)},
      {{"m=40", "n=72", "k=304", "dtype=e4m3", "layout=nt"}, swapped(32, 1, 3, 3)},
  }));
  check_accepted(row.words, row.uses, "gemm_swapped");
}

}  // namespace
}  // namespace cupilot
