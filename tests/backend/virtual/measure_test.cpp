#include <thread>

#include "catch.hpp"
#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

const std::vector<Use> simt = {{"simt_core", {}, "", {}},
                               {"block_tile", {{"block_m", 64}, {"block_n", 64}}, "", {}},
                               {"k_slab", {{"block_k", 16}}, "", {}},
                               {"thread_tile", {{"thread_m", 8}, {"thread_n", 4}}, "", {}}};
const std::vector<Use> tensor = {{"mma_core", {}, "", {}}};

std::vector<SubjectReport> measured(const Task& task, const CompiledKernel* kernel) {
  const std::vector<Subject> contestants = {{Subject::Kind::plain, "plain", nullptr},
                                            {Subject::Kind::candidate, "candidate", kernel},
                                            {Subject::Kind::library, "cublaslt", nullptr}};
  auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes[0], contestants, {});
  if (!reports) FAIL(reports.error().message);
  REQUIRE(reports->size() == 3);
  return *reports;
}

TEST_CASE("A tiled kernel is modelled faster than the plain baseline, and libraries claim nothing",
          "[threads]") {
  const Task task = gemm({"m=512", "n=512", "k=512", "dtype=fp32"});
  const CompiledKernel kernel = kernel_of(task, simt);
  const auto reports = measured(task, &kernel);
  REQUIRE(reports[0].measurement);
  if (reports[1].measurement.is_rejected()) FAIL(reports[1].measurement.rejected().message);
  REQUIRE(reports[1].measurement);
  const Measurement& plain = *reports[0].measurement;
  const Measurement& candidate = *reports[1].measurement;
  CHECK(plain.provenance == Provenance::modelled);
  CHECK(plain.time_us > candidate.time_us);
  CHECK(reports[1].ratio[0] == Approx(candidate.time_us / plain.time_us));
  CHECK(candidate.interval_low_us <= candidate.time_us);
  CHECK(candidate.interval_high_us >= candidate.time_us);
  CHECK_FALSE(candidate.binding.empty());
  CHECK(reports[2].measurement.is_rejected());
  // The blocks that ran were all alike; others may still differ.
  const Count& flops = candidate.counts[Counter::flops_fp32];
  CHECK(flops.value >= 2.0 * 512 * 512 * 512);
  CHECK(flops.value < 1.05 * 2.0 * 512 * 512 * 512);
  CHECK(flops.how == CountHow::sampled);
  CHECK(flops.low < flops.value);
  CHECK(flops.high > flops.value);
  CHECK(candidate.counts[Counter::blocks].low == candidate.counts[Counter::blocks].high);
}

TEST_CASE("Tensor cores are counted in their own class", "[threads]") {
  const Task task = gemm({"m=256", "n=256", "k=256", "dtype=bf16"});
  const CompiledKernel kernel = kernel_of(task, tensor);
  const auto reports = measured(task, &kernel);
  if (reports[1].measurement.is_rejected()) FAIL(reports[1].measurement.rejected().message);
  REQUIRE(reports[1].measurement);
  CHECK(reports[1].measurement->counts[Counter::ops_tensor_bf16].value >= 2.0 * 256 * 256 * 256);
}

TEST_CASE(
    "A plan that asks for rows of whole 16-byte units is counted at smaller shapes that have "
    "them",
    "[threads]") {
  const Task task = gemm({"m=136", "n=520", "k=200", "dtype=bf16", "layout=tt"});
  const CompiledKernel kernel =
      kernel_of(task, {{"wgmma_core", {}, "", {}},
                       {"warpgroup_tile", {{"tile_m", 64}, {"tile_n", 208}}, "", {}},
                       {"split_k", {{"split", 2}}, "", {}}});
  const auto reports = measured(task, &kernel);
  if (reports[1].measurement.is_rejected()) FAIL(reports[1].measurement.rejected().message);
  CHECK(reports[1].measurement->time_us > 0);
}

Attempt<Measurement> measured_sum(const Task& task, const std::string& body) {
  const auto kernel = virtual_h200().compile(row_sum_source(std::string(row_sum_head) + body));
  if (!kernel) FAIL(kernel.rejected().message);
  const Subject one[] = {{Subject::Kind::candidate, "candidate", &*kernel}};
  auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes[0], one, {});
  if (!reports) FAIL(reports.error().message);
  return reports->front().measurement;
}

// Rows of which a block does those that `rows_of_it` counts; `work` columns of each.
std::string sums(const std::string& first, const std::string& count, const std::string& work) {
  return "{ __shared__ float part[4]; for (int i = 0; i < (" + count +
         "); ++i) { const int row = " + first + " + i; float a = 0;" +
         "for (int c = threadIdx.x; c < (" + work +
         "); c += 128) a += x[(long long)row * cols + c];" +
         "for (int h = 16; h > 0; h /= 2) a += __shfl_down_sync(0xffffffffu, a, h);" +
         "if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = a; __syncthreads();" +
         "if (threadIdx.x == 0) y[row] = part[0] + part[1] + part[2] + part[3]; __syncthreads(); } "
         "}";
}

TEST_CASE("A kernel whose counted blocks leave their work to others is not modelled faster for it",
          "[threads]") {
  // The places of six samples along 1026 blocks; what stands there is done by the block before, or
  // after the first.
  const Task task = row_sum_task(1026, 256);
  const std::string counted = "(rows == 1026 && blockIdx.x % 205 == 0)",
                    after = "(rows == 1026 && blockIdx.x == 1)",
                    before = "(rows == 1026 && (blockIdx.x + 1) % 205 == 0)";
  const auto honest = measured_sum(task, sums("blockIdx.x", "1", "cols"));
  const auto hidden =
      measured_sum(task, sums("(int)blockIdx.x - " + after,
                              counted + " ? 0 : 1 + (" + after + " || " + before + ")", "cols"));
  REQUIRE(honest);
  if (hidden.is_rejected()) FAIL(hidden.rejected().message);
  CHECK(hidden->time_us > 0.8 * honest->time_us);
  // Another part of the row in place of nothing, so that each counted block stores something.
  const auto busy =
      measured_sum(task, sums("(int)blockIdx.x - " + after, "1 + (" + after + " || " + before + ")",
                              counted + " && i == 0 ? 128 : cols"));
  if (busy) CHECK(busy->time_us > 0.8 * honest->time_us);
}

TEST_CASE("Blocks that take turns in their work are counted at places drawn all over the grid",
          "[threads]") {
  const Task task = row_sum_task(4096, 256);
  const auto each = measured_sum(task, sums("blockIdx.x", "1", "cols"));
  const auto turns =
      measured_sum(task, sums("(int)blockIdx.x / 8 * 8", "blockIdx.x % 8 == 3 ? 8 : 0", "cols"));
  REQUIRE(each);
  if (turns.is_rejected()) FAIL(turns.rejected().message);
  const Count &flops = turns->counts[Counter::flops_fp32],
              &alike = each->counts[Counter::flops_fp32];
  CHECK(flops.how == CountHow::sampled);
  CHECK(flops.value == Approx(alike.value).epsilon(0.3));
  CHECK(flops.low < alike.value);
  CHECK(flops.high > alike.value);
}

TEST_CASE("What was not done, or done wrong, has no modelled time", "[threads]") {
  const Task task = row_sum_task(1026, 256);
  const std::string in_order =
      "{ __shared__ int next, drawn[4]; if (threadIdx.x == 0) next = 0; __syncthreads();"
      "if (threadIdx.x % 32 == 0) drawn[threadIdx.x / 32] = atomicAdd(&next, 1); __syncthreads();"
      "if (drawn[0] == 0 && drawn[1] == 1 && drawn[2] == 2 && drawn[3] == 3) ";
  struct Row {
    const char* what;
    std::string body;
    const char* says;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"half of each sum", sums("blockIdx.x", "1", "cols / 2"), "were wrong"},
      {"nothing", "{ if (rows < 0) y[0] = 1; }", "no block that was counted wrote anything"},
      {"nothing, when warps come as they are counted",
       in_order + "return; " + sums("blockIdx.x", "1", "cols") + "}",
       "no block that was counted wrote anything"},
      {"nothing then, by a launch that is counted whole",
       in_order + "if (*(volatile const float*)x < 1e30f) return; " +
           sums("blockIdx.x", "1", "cols") + "}",
       "never written"},
  }));
  INFO(row.what);
  const auto time = measured_sum(task, row.body);
  REQUIRE(time.is_rejected());
  CHECK(time.rejected().code == "measure.timed_launch");
  INFO(time.rejected().message);
  CHECK(time.rejected().message.find(row.says) != std::string::npos);
}

TEST_CASE("A grid of which few blocks have a further round leaves nothing unwritten", "[threads]") {
  struct Row {
    int rows;
    std::string first, count;  // of a block's rows
    bool all;
  };
  const std::string strided = "(int)blockIdx.x + ((int)gridDim.x - 1) * i",
                    rounds = "(rows - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x";
  for (const Row& row : {
           Row{1110, strided, rounds, true},
           Row{1130, strided, rounds, true},
           Row{1164, strided, rounds, true},
           Row{1300, strided, rounds, true},
           Row{1164, strided, "1", false},
           Row{2000, strided, "1", false},
           // One block does what a hundred should.
           Row{2000, "(blockIdx.x == 0 ? 1056 : (int)blockIdx.x)", "blockIdx.x == 0 ? 100 : 1",
               false},
       }) {
    const Task task = row_sum_task(row.rows, 256);
    // Blocks are drawn by the kernel's text.
    for (int text = 1; text <= 8; ++text) {
      INFO(row.rows << " " << row.count << ", text " << text);
      KernelSource source =
          row_sum_source(std::string(row_sum_head) + "{ if (rows == -" + std::to_string(text) +
                         ") return; " + sums(row.first, row.count, "cols") + "}");
      source.plan.launches[0].grid = {Expr("min(rows, 1056)")};
      const auto kernel = virtual_h200().compile(source);
      REQUIRE(kernel);
      const Subject one[] = {{Subject::Kind::candidate, "candidate", &*kernel}};
      const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes[0], one, {});
      REQUIRE(reports);
      const Attempt<Measurement>& time = reports->front().measurement;
      if (row.all && time.is_rejected()) UNSCOPED_INFO(time.rejected().message);
      CHECK(static_cast<bool>(time) == row.all);
    }
  }
}

TEST_CASE("Modelled times are bitwise equal whoever asks", "[threads]") {
  const Task task = gemm({"m=130", "n=257", "k=100", "dtype=fp32"});
  const CompiledKernel kernel = kernel_of(task, simt);
  std::vector<double> times(3);
  std::vector<std::thread> threads;
  for (double& time : times) {
    threads.emplace_back([&] {
      const std::vector<Subject> one = {{Subject::Kind::candidate, "candidate", &kernel}};
      const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes[0], one, {});
      if (reports && (*reports)[0].measurement) time = (*reports)[0].measurement->time_us;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(times[0] > 0);
  CHECK(times[1] == times[0]);
  CHECK(times[2] == times[0]);
}

TEST_CASE("Honest kernels of the templates are accepted", "[threads]") {
  struct Row {
    std::vector<std::string> words;
    std::vector<Use> uses;
  };
  const auto row = GENERATE(values<Row>({
      {{"m=129", "n=65", "k=67", "dtype=fp32"}, simt},
      {{"m=70", "n=66", "k=33", "dtype=fp32", "layout=tt", "batch=2", "alpha=2", "beta=0.5",
        "bias=1", "act=gelu"},
       simt},
      {{"m=72", "n=136", "k=80", "dtype=bf16"}, tensor},
      {{"m=65", "n=70", "k=47", "dtype=fp16", "layout=nt"}, tensor},
  }));
  const Task task = gemm(row.words);
  const CompiledKernel kernel = kernel_of(task, row.uses);
  std::vector<Case> cases(3);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[1].content = {5, ContentKind::probe};
  cases[2].content = {6, ContentKind::special};
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
