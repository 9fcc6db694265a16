// What is lacking is said, in the greeting, by doctor and with every kernel; and what a compiler may do never harms the
// controller.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "backend/compile_pool.hpp"
#include "catch.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

const char* plain = "extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = 1.0f; }";

// A worker program of the given name.
std::string worker_named(const std::string& name) {
  const std::filesystem::path link = std::filesystem::path(CUPILOT_LACKING_WORKER).parent_path() / name;
  std::error_code exists;
  std::filesystem::create_symlink(CUPILOT_LACKING_WORKER, link, exists);
  return link;
}

BackendOptions options_for(const std::string& worker) {
  BackendOptions options;
  options.worker_path = worker_named(worker);
  options.compile_jobs = 1;
  options.compile_seconds = 10;
  return options;
}

std::unique_ptr<CompilePool> open_pool(const BackendOptions& options) {
  auto opened = CompilePool::open(options);
  if (!opened) FAIL(opened.error().message);
  return std::move(*opened);
}

CompileRequest request_of(const std::string& text) { return {text, "sm_90a", {}, {}, true}; }

bool has_finding(const std::vector<Finding>& findings, const std::string& name, bool present) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.name == name && finding.present == present && finding.cost.empty() == present;
  });
}

}  // namespace

// A sanitizer's own start needs the limits that a worker without them is denied.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_lack_limits = false;
#else
constexpr bool can_lack_limits = true;
#endif

TEST_CASE("A machine that lacks a protection compiles on and says so everywhere") {
  struct Row {
    const char *worker, *finding, *words;
    bool limits = true;
  };
  const auto row = GENERATE(values<Row>({{"lacking-landlock", "landlock", "NO landlock, seccomp, rlimits"},
                                         {"lacking-seccomp", "seccomp", "NO seccomp, rlimits"},
                                         {"lacking-rlimits", "rlimits", "seccomp, NO rlimits", false},
                                         {"lacking-everything", "landlock", "NO landlock, NO seccomp, NO rlimits", false}}));
  if (!row.limits && !can_lack_limits) return;
  INFO(row.worker);
  const BackendOptions options = options_for(row.worker);
  const auto pool = open_pool(options);
  CHECK(describe(pool->sandbox()).find(row.words) != std::string::npos);
  const auto output = pool->compile(request_of(plain));
  REQUIRE(output);
  CHECK(output->confinement == describe(pool->sandbox()));
  CHECK(has_finding(examine_machine(options), row.finding, false));
  CHECK(lacks_of(pool->sandbox()).size() == (std::string(row.worker) == "lacking-everything" ? 3 : 1));
  const auto device = open_backend("virtual:h200", options);
  REQUIRE(device);
  CHECK((*device)->notices().size() == 1 + lacks_of(pool->sandbox()).size());
}

TEST_CASE("Without Landlock a source that says include is not compiled") {
  const auto pool = open_pool(options_for("lacking-landlock"));
  for (const std::string include : {"#include <cuda_fp16.h>\n", "#inc\\\nlude </etc/passwd>\n", "#embed \"/etc/passwd\"\n"}) {
    testing::expect_code(pool->compile(request_of(include + plain)), "gate.include");
  }
}

TEST_CASE("A compiler that dies, hangs or babbles costs one rejection each") {
  struct Row {
    const char *worker, *code;
  };
  const auto row = GENERATE(values<Row>({{"compiler-dies", "compile.crash"},
                                         {"compiler-hangs", "compile.timeout"},
                                         {"compiler-misnumbers", "compile.crash"},
                                         {"compiler-babbles", "compile.crash"},
                                         {"compiler-full", "compile.memory"},
                                         {"compiler-verbose", "compile.output_size"}}));
  INFO(row.worker);
  BackendOptions options = options_for(row.worker);
  options.compile_seconds = 0.5;
  const auto pool = open_pool(options);
  for (int again = 0; again < 2; ++again) testing::expect_code(pool->compile(request_of(plain)), row.code);
}
