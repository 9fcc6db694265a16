#include <chrono>

#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

const Case what{gpu::shape(64, 64, 32), {5, ContentKind::ordinary}, 0, false};

// The code of a body's fault, and that an honest kernel runs right after it; how soon is noted.
void faults_and_recovers(const char* body, const std::string& code) {
  const Task task = gpu::gemm({});
  const CompiledKernel kernel = gpu::simple_sgemm(body), honest = gpu::simple_sgemm();
  REQUIRE(gpu::good(gpu::prove(task, honest, what)));
  const CaseReport report = gpu::prove(task, kernel, what);
  CAPTURE(body);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].code == code);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(gpu::good(gpu::prove(task, honest, what)));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  WARN(report.faults[0].code << ": " << report.faults[0].message << "; next proof after " << seconds
                             << " s");
}

}  // namespace

TEST_CASE("one element past the end faults") {
  faults_and_recovers("D[(long long)m * n] = s;", "run.out_of_bounds");
}
TEST_CASE("far outside faults") {
  faults_and_recovers("D[(long long)r * n + c] = s; D[1ll << 34] = s;", "run.out_of_bounds");
}
TEST_CASE("reading past an input's end faults") {
  faults_and_recovers("D[(long long)r * n + c] = s + A[m * k];", "run.out_of_bounds");
}
TEST_CASE("writing an input faults") {
  faults_and_recovers("D[(long long)r * n + c] = s; ((float*)A)[0] = 0;", "run.input_write");
}
TEST_CASE("a misaligned access faults") {
  faults_and_recovers(
      "D[(long long)r * n + c] = s; if (r == 0) *(float2*)(D + 1) = make_float2(0, 0);",
      "run.misaligned");
}
TEST_CASE("an endless kernel is killed") {
  faults_and_recovers(
      "D[(long long)r * n + c] = s; volatile float* v = D; while (v[0] == v[0]) { }", "run.hang");
}

TEST_CASE("every second case lies at the other end: one element before it faults") {
  const Task task = gpu::gemm({});
  const CompiledKernel kernel =
      gpu::simple_sgemm("if (r < m && c < n) D[(long long)r * n + c] = s + A[-1];");
  const std::vector<Case> both(2, what);
  const auto report = gpu::backend().run(TaskRef(task), kernel, both);
  REQUIRE(report);
  REQUIRE(report->cases.size() == 2);
  CHECK(gpu::faults(report->cases[1]) == "run.out_of_bounds");
}

TEST_CASE("a write just before an output is seen by its guard") {
  const Task task = gpu::gemm({});
  const CaseReport report = gpu::prove(
      task, gpu::simple_sgemm("D[(long long)r * n + c] = s; if (r == 0 && c == 0) D[-2] = 1.0f;"),
      what);
  CHECK(gpu::faults(report) == "run.guard");
}

TEST_CASE("a judge or runner that is killed from outside is replaced") {
  const Task task = gpu::gemm({});
  const CompiledKernel honest = gpu::simple_sgemm();
  for (const char* role : {"judge", "runner"}) {
    REQUIRE(gpu::good(gpu::prove(task, honest, what)));
    REQUIRE(gpu::kill_worker(role) >= 1);
    auto report = gpu::backend().run(TaskRef(task), honest, {&what, 1});
    REQUIRE(report);
    // A run that was under way on a dying runner is that run's fault; the next one is not.
    if (!gpu::good(report->cases[0])) CHECK(gpu::good(gpu::prove(task, honest, what)));
  }
}

TEST_CASE("a killed pair of processes is had anew") {
  const Task task = gpu::gemm({});
  const CompiledKernel honest = gpu::simple_sgemm();
  REQUIRE(gpu::good(gpu::prove(task, honest, what)));
  REQUIRE(gpu::backend().inspector().renew());
  CHECK(gpu::good(gpu::prove(task, honest, what)));
}
