// Outputs that the calling program judges.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <cupilot/parts/checker_power.hpp>
#include <cupilot/parts/verification.hpp>

#include "catch.hpp"
#include "support/reached.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

std::vector<float> floats(const TensorView& view) {
  std::vector<float> out(view.bytes.size() / 4);
  std::memcpy(out.data(), view.bytes.data(), view.bytes.size());
  return out;
}

// Says yes to sums that are right to a tenth.
std::string roughly(const Workload& workload, std::span<const TensorView> tensors) {
  const std::vector<float> x = floats(tensors[0]), y = floats(tensors[1]);
  if (tensors[0].name != "x" || tensors[1].name != "y") return "other names";
  if (static_cast<std::int64_t>(y.size()) != workload.sizes.at("rows")) return "another shape";
  const std::size_t columns = x.size() / y.size();
  for (std::size_t r = 0; r < y.size(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += static_cast<double>(x[r * columns + c]);
    if (!(std::abs(static_cast<double>(y[r]) - sum) <= 0.1))
      return "row " + std::to_string(r) + " is wrong";
  }
  return "";
}

Task judged_task(HostJudge judge) {
  Task task = row_sum_task(37, 200);
  task.tensors[1].check = {.kind = CheckKind::custom, .of = "roughly 1", .judge = std::move(judge)};
  return task;
}

// The row sum with `result` stored in place of the sum, s[0].
CompiledKernel kernel_that(const std::string& result) {
  std::string text = std::string(row_sum_head) + row_sum_honest;
  text.replace(text.find("= s[0];"), 7, "= " + result + ";");
  const auto kernel = virtual_h200().compile(row_sum_source(text));
  if (!kernel) throw std::runtime_error("the kernel does not compile");
  return *kernel;
}

Result<TrialReport> run(const Task& task, const CompiledKernel& kernel) {
  const Case what{.workload = task.time_shapes[0], .content = {.seed = 3}};
  return virtual_h200().run(TaskRef(task), kernel, {&what, 1});
}

TEST_CASE("a judge of the calling program's sees inputs and outputs, and decides", "[threads]") {
  const CompiledKernel rough = kernel_that("s[0] + 0.05f"), wrong = kernel_that("s[0] + 0.5f");
  testing::expect_code(verdict_of(run(row_sum_task(37, 200), rough)), "verify.bound");
  const Task task = judged_task(roughly);
  testing::expect_code(verdict_of(run(task, rough)), "");
  testing::expect_code(verdict_of(run(task, wrong)), "verify.judge");
  const auto refused = run(task, wrong);
  REQUIRE(refused);
  REQUIRE(refused->cases[0].faults.size() == 1);
  CHECK(refused->cases[0].faults[0].code == "verify.judge");
  CHECK(refused->cases[0].faults[0].message == "roughly 1 says of y: row 0 is wrong");
  const auto concluded = conclude(task, wrong, ProofLevel::candidate, *refused);
  REQUIRE(concluded.is_rejected());
  CHECK(concluded.rejected().code == "verify.judge");
  CHECK(concluded.rejected().message.find("row 0 is wrong; shape") != std::string::npos);
}

TEST_CASE("a judged output that was never written is not shown to its judge", "[threads]") {
  const Task task = judged_task([](auto&&...) -> std::string { throw std::logic_error("asked"); });
  std::string text = std::string(row_sum_head) + row_sum_honest;
  text.replace(text.find("{\n"), 2, "{\n  if (blockIdx.x == rows - 1) return;\n");
  const auto kernel = virtual_h200().compile(row_sum_source(text));
  REQUIRE(kernel);
  testing::expect_code(verdict_of(run(task, *kernel)), "verify.never_written");
  const auto thrown = run(task, kernel_that("s[0]"));
  REQUIRE_FALSE(thrown);
  CHECK(thrown.error().code == ErrorCode::usage);
  CHECK(thrown.error().message.find("roughly 1 says of y: an exception: asked") !=
        std::string::npos);
  const auto number =
      run(judged_task([](auto&&...) -> std::string { throw 7; }), kernel_that("s[0]"));
  REQUIRE_FALSE(number);
  CHECK(number.error().message.find("an exception of a type of its own") != std::string::npos);
}

TEST_CASE("a judge decides on timed launches, too", "[threads]") {
  const Task task = judged_task(roughly);
  const CompiledKernel rough = kernel_that("s[0] + 0.05f"), wrong = kernel_that("s[0] + 0.5f");
  const std::vector<Subject> subjects = {{.name = "rough", .kernel = &rough},
                                         {.name = "wrong", .kernel = &wrong}};
  const auto times = virtual_h200().measure(TaskRef(task), task.time_shapes[0], subjects, {});
  REQUIRE(times);
  CHECK((*times)[0].measurement);
  REQUIRE((*times)[1].measurement.is_rejected());
  CHECK((*times)[1].measurement.rejected().code == "measure.timed_launch");
}

TEST_CASE("what a judge passed claims no bound", "[threads]") {
  const Task task = judged_task(roughly);
  const CompiledKernel kernel = kernel_that("s[0]");
  const auto report = run(task, kernel);
  REQUIRE(report);
  const auto proof = conclude(task, kernel, ProofLevel::candidate, *report);
  REQUIRE(proof);
  CHECK(proof->proved_by.front() ==
        "y was judged right by roughly 1, the calling program's own judge, in 1 cases");
  const auto says = [&](const std::string& words) {
    for (const auto* lines : {&proof->proved_by, &proof->unproved}) {
      for (const std::string& line : *lines) {
        if (line.find(words) != std::string::npos) return true;
      }
    }
    return false;
  };
  CHECK_FALSE(says("within their bound"));
  CHECK(says("the error of y: its judge is the calling program's"));
  CHECK_FALSE(says("rests on the bound"));
  CHECK_FALSE(says("other bits of y"));
  TrialReport differing = *report;
  differing.cases[0].repeats_done = 2;
  differing.cases[0].outputs[0].repeat_differs = 3;
  const auto repeated = conclude(task, kernel, ProofLevel::candidate, differing);
  REQUIRE(repeated);
  CHECK(std::find(repeated->proved_by.begin(), repeated->proved_by.end(),
                  "not deterministic: 3 elements changed bits in 2 repeated runs") !=
        repeated->proved_by.end());
  CHECK(std::find(repeated->unproved.begin(), repeated->unproved.end(),
                  "other bits of y, which repeated runs gave: its judge saw those of the first "
                  "run") != repeated->unproved.end());
  const auto power = check_power(TaskRef(task), virtual_h200());
  REQUIRE(power);
  REQUIRE_FALSE(power->exempt.empty());
  CHECK(power->exempt[0] == "y: what its judge, roughly 1, refuses is not known");
}

TEST_CASE("a task with a judge has its name in the id, and no file of it is read") {
  Task task = judged_task(roughly);
  const std::string id = task_id(task);
  task.tensors[1].check.of = "roughly 2";
  CHECK(task_id(task) != id);
  const auto text = task_to_json(task);
  REQUIRE(text);
  const auto read = task_from_json(*text, "a file");
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("custom has no judge") != std::string::npos);
  task.tensors[1].check.of = "";
  CHECK(validate(task).error().message.find("the judge has no name") != std::string::npos);
}

}  // namespace
}  // namespace cupilot
