// What is lacking is said, in the greeting, by doctor and with every kernel; and what a compiler
// may do never harms the controller.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <cupilot/parts/rejection.hpp>

#include "backend/compile/pool.hpp"
#include "catch.hpp"
#include "support/reached.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;

namespace {

const char* plain = "extern \"C\" __global__ void k(float* y) { y[threadIdx.x] = 1.0f; }";

// A worker program of the given name.
std::string worker_named(const std::string& name) {
  const std::filesystem::path link =
      std::filesystem::path(CUPILOT_LACKING_WORKER).parent_path() / name;
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
const bool can_lack_limits = !testing::sanitized();

TEST_CASE("A machine that lacks a protection compiles on and says so everywhere") {
  struct Row {
    const char *worker, *finding, *words;
    bool limits = true;
  };
  const auto row = GENERATE(values<Row>(
      {{"lacking-landlock", "landlock", "NO landlock, seccomp, rlimits"},
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
  CHECK(lacks_of(pool->sandbox()).size() ==
        (std::string(row.worker) == "lacking-everything" ? 3 : 1));
  const auto device = open_backend("virtual:h200", options);
  REQUIRE(device);
  CHECK((*device)->traits().notices.size() == 1 + lacks_of(pool->sandbox()).size());
}

TEST_CASE("Without Landlock a source that says include is not compiled") {
  const auto pool = open_pool(options_for("lacking-landlock"));
  for (const std::string include :
       {"#include <cuda_fp16.h>\n", "#inc\\\nlude </etc/passwd>\n", "#embed \"/etc/passwd\"\n"}) {
    testing::expect_code(pool->compile(request_of(include + plain)), "gate.include");
  }
}

TEST_CASE(
    "What a compile server meets is blamed on the source only when a fresh server meets it too") {
  struct Row {
    const char *worker, *code;  // a word a server, in the order they are started; "": compiled,
                                // "error": the machine's fault
  };
  const auto row = GENERATE(values<Row>({{"compiler-dies-serves", ""},
                                         {"compiler-hangs-serves", ""},
                                         {"compiler-crashes-serves", ""},
                                         {"compiler-babbles-serves", ""},
                                         {"compiler-forkless-serves", ""},
                                         {"compiler-dies-crashes-serves", "compile.crash"},
                                         {"compiler-crashes-hangs-serves", "compile.timeout"},
                                         {"compiler-forkless-forkless-serves", "error"},
                                         {"compiler-forkless-dies-serves", ""},
                                         {"compiler-dies-forkless-serves", ""},
                                         {"compiler-dies-forkless-dies", "compile.crash"},
                                         {"compiler-hangs-forkless-forkless", "error"}}));
  INFO(row.worker);
  BackendOptions options = options_for(row.worker);
  options.compile_seconds = 0.5;
  std::filesystem::remove(options.worker_path + ".starts");
  const auto output = open_pool(options)->compile(request_of(plain));
  if (std::string(row.code).empty()) {
    CHECK(output);
  } else if (std::string(row.code) == "error") {
    REQUIRE(output.is_error());
    CHECK(output.error().code == ErrorCode::failure);
    CHECK(output.error().hint.find("ulimit") != std::string::npos);
  } else {
    testing::expect_code(output, row.code);
  }
}

TEST_CASE("Compile servers that are gone before they are asked cost nothing", "[threads]") {
  BackendOptions options = options_for("lacking-nothing");
  options.compile_jobs = 2;
  const auto pool = open_pool(options);
  {
    std::atomic<int> begun{0};
    const auto compile = [&] {
      for (++begun; begun < 2;) std::this_thread::yield();
      return static_cast<bool>(pool->compile(request_of(plain)));
    };
    auto beside = std::async(std::launch::async, compile);
    CHECK(compile());
    CHECK(beside.get());
  }
  const auto children =
      std::filesystem::path("/proc/self/task") / std::to_string(getpid()) / "children";
  std::ifstream listed(children);
  int killed = 0;
  for (pid_t child = 0; listed >> child; ++killed) kill(child, SIGKILL);
  CHECK(killed >= 2);
  CHECK(pool->compile(request_of(plain)));
}

TEST_CASE("Only a compiler that read the reference blames its text") {
  struct Row {
    const char* code;
    ErrorCode error;
    const char* hint;
  };
  const auto row =
      GENERATE(values<Row>({{"compile.error", ErrorCode::usage, "correct the reference text"},
                            {"compile.memory", ErrorCode::usage, "correct the reference text"},
                            {"compile.crash", ErrorCode::failure, "try again"},
                            {"compile.timeout", ErrorCode::failure, "try again"}}));
  const Error error =
      reference_not_compiled("reference of task t", reject(row.code, "why", "kernel.cu:2"));
  const Error composed = reference_not_compiled("graph", reject(row.code, "why"), true);
  CHECK(composed.hint.ends_with("state the graph as several smaller tasks"));
  CHECK(error.code == row.error);
  CHECK(error.hint.rfind(row.hint, 0) == 0);
  CHECK(error.message == "reference of task t: why at kernel.cu:2");
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
                                         {"compiler-starves", "compile.memory"},
                                         {"compiler-grumbles", "compile.error"},
                                         {"compiler-verbose", "compile.output_size"}}));
  INFO(row.worker);
  BackendOptions options = options_for(row.worker);
  options.compile_seconds = 0.5;
  const auto pool = open_pool(options);
  for (int again = 0; again < 2; ++again)
    testing::expect_code(pool->compile(request_of(plain)), row.code);
}
