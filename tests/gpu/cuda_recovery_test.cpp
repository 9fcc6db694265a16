// After every way to lose a process the next candidate is measured soon. Lines go to the file that
// CUPILOT_GPU_NOTES names.
#include <chrono>

#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

const Case what{gpu::shape(64, 64, 32), {5, ContentKind::ordinary}};
constexpr int times = 5;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds until an honest kernel is proved, then until it is measured too.
std::pair<double, double> next_candidate() {
  const auto begin = std::chrono::steady_clock::now();
  GemmSpec spec;
  spec.m = spec.n = spec.k = 256;
  const Task task = gpu::gemm(spec);
  static const CompiledKernel honest = gpu::simple_sgemm();
  const bool good = gpu::good(gpu::prove(task, honest, what));
  const double proved = seconds_since(begin);
  const Subject contestant{Subject::Kind::candidate, "honest", &honest};
  const auto reports = gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1},
                                              {3, 0.1, true, 1});
  CHECK(good);
  REQUIRE(reports);
  CHECK((*reports)[0].measurement);
  return {proved, seconds_since(begin)};
}

void record(const std::string& loss, const std::string& code, double until_known,
            std::pair<double, double> next) {
  gpu::note({{"test", "recovery"},
             {"loss", loss},
             {"code", code},
             {"until_known_s", std::to_string(until_known)},
             {"proved_after_s", std::to_string(next.first)},
             {"measured_after_s", std::to_string(next.second)}});
  CAPTURE(loss);
  CHECK(next.second < 3.0);
}

}  // namespace

TEST_CASE("the next candidate is measured within three seconds of every fault") {
  struct Row {
    const char* loss;
    const char* body;
    const char* code;
  };
  const Row rows[] = {
      {"hang", "D[(long long)r * n + c] = s; volatile float* v = D; while (v[0] == v[0]) { }",
       "run.hang"},
      {"illegal address", "D[(long long)r * n + c] = s; D[1ll << 34] = s;", "run.out_of_bounds"},
      {"trap", "D[(long long)r * n + c] = s; if (r == 3) asm volatile(\"trap;\");", "run.trap"},
      {"assert",
       "D[(long long)r * n + c] = s; if (r == 3) __assertfail(\"x\", \"f\", 1, \"g\", 1);",
       "run.trap"},
      {"input write", "D[(long long)r * n + c] = s; ((float*)A)[0] = 0;", "run.input_write"},
  };
  const Task task = gpu::gemm({});
  next_candidate();
  for (const Row& row : rows) {
    const CompiledKernel kernel = gpu::ungated(gpu::sgemm_text(row.body), {});
    for (int time = 0; time < times; ++time) {
      const auto begin = std::chrono::steady_clock::now();
      const CaseReport report = gpu::prove(task, kernel, what);
      const double known = seconds_since(begin);
      CAPTURE(row.loss, gpu::faults(report));
      CHECK(gpu::faults(report) == row.code);
      record(row.loss, gpu::faults(report), known, next_candidate());
    }
  }
}

TEST_CASE("the next candidate is measured within three seconds of a kill") {
  next_candidate();
  for (const char* role : {"runner", "judge"}) {
    for (int time = 0; time < times; ++time) {
      REQUIRE(gpu::kill_worker(role) >= 1);
      record(std::string("killed ") + role, "", 0, next_candidate());
    }
  }
}

TEST_CASE("a new pair of processes") {
  for (int time = 0; time < times; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(gpu::backend().inspector().renew());
    record("renewed", "", seconds_since(begin), next_candidate());
  }
}
