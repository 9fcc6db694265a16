#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/core.h>

#include "backend/compile/cache.hpp"
#include "backend/compile/pool.hpp"
#include "backend/compile/protocol.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "catch.hpp"
#include "support/reached.hpp"

using namespace cupilot;

namespace {

CompilePool& pool() {
  static const std::unique_ptr<CompilePool> instance = [] {
    setenv("CUPILOT_CANARY", "canary-5f1d", 1);
    BackendOptions options;
    options.compile_seconds = 6;
    options.compile_jobs = 2;
    auto opened = CompilePool::open(options);
    if (!opened) FAIL(opened.error().message);
    return std::move(*opened);
  }();
  return *instance;
}

Attempt<CompileOutput> compile(const std::string& text, std::vector<std::string> names = {}) {
  CompileRequest request;
  request.text = text;
  request.arch = "sm_90a";
  request.name_expressions = std::move(names);
  return pool().compile(request);
}

const char* saxpy =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y) { y[threadIdx.x] += a * "
    "x[threadIdx.x]; }";

}  // namespace

TEST_CASE("a plain kernel gives PTX, cubin and ptxas's report") {
  const auto output = compile(saxpy);
  REQUIRE(output);
  CHECK(output->ptx.find(".entry saxpy") != std::string::npos);
  CHECK(output->cubin.size() > 1000);
  CHECK(output->log.find("registers") != std::string::npos);
  CHECK(output->compiler.rfind("nvrtc ", 0) == 0);
}

TEST_CASE("a compile that is stopped says nothing of its source", "[threads]") {
  // Takes seconds.
  std::string slow = "extern \"C\" __global__ void f(float* x) { float s = x[0];\n";
  for (int i = 0; i < 6000; ++i) slow += fmt::format("s = s * x[{}] + x[{}];\n", i, 2 * i);
  slow += "x[0] = s; }";
  std::atomic<bool> stop{false};
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  const StopScope stoppable({&stop});
  for (int i = 0; i < 3; ++i) {  // the later ones before they begin
    const auto began = std::chrono::steady_clock::now();
    const auto output = compile(slow);
    REQUIRE(output.is_error());
    CHECK(output.error().message == stopped_error().message);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
  }
  stop = false;
  CHECK(compile(saxpy));
}

TEST_CASE("what was compiled is taken from the folder by the next process, but not anew") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("cupilot-images-" + std::to_string(getpid()));
  BackendOptions options;
  options.compile_jobs = 1;
  options.compile_cache = folder;
  auto pool = CompilePool::open(options);
  REQUIRE(pool);
  CompileRequest request;
  request.text = saxpy;
  request.arch = "sm_90a";
  const auto first = (*pool)->compile(request);
  REQUIRE(first);
  CompileOrder order{request, standard_compile_options(request), 20};
  const auto cache = CompileCache::open(folder, (*pool)->sandbox().compiler_digest);
  auto kept = cache.find(order);
  REQUIRE(kept);
  CHECK(kept->output.ptx == first->ptx);
  kept->output.ptx = "of the folder";
  cache.keep(order, *kept);
  const auto second = (*pool)->compile(request);
  REQUIRE(second);
  CHECK(second->ptx == "of the folder");
  CHECK(second->confinement == first->confinement);
  request.anew = true;
  const auto third = (*pool)->compile(request);
  REQUIRE(third);
  CHECK(third->ptx == first->ptx);
  std::filesystem::remove_all(folder);
}

TEST_CASE("templates are compiled by name expression") {
  const auto output = compile(
      "template <int N> __global__ void fill(float* x) { x[threadIdx.x] = N; }", {"fill<3>"});
  REQUIRE(output);
  REQUIRE(output->lowered_names.count("fill<3>") == 1);
  CHECK(output->ptx.find(output->lowered_names.at("fill<3>")) != std::string::npos);
}

TEST_CASE("PTX alone needs no real architecture") {
  CompileRequest request{saxpy, "sm_90a", {}, {}, true};
  const auto output = pool().compile(request);
  REQUIRE(output);
  CHECK(output->cubin.empty());
  CHECK(output->ptx.find(".target sm_90a") != std::string::npos);
}

TEST_CASE("errors name their line") {
  const auto output = compile("extern \"C\" __global__ void k() {\n  int x = y;\n}\n");
  REQUIRE(output.is_rejected());
  testing::expect_code(output.rejected(), "compile.error");
  CHECK(output.rejected().where == "kernel.cu:2");
  CHECK(output.rejected().message.find("\"y\" is undefined") != std::string::npos);
}

TEST_CASE("the assembler's reason is part of the message") {
  std::string sums = "s0";
  for (int i = 1; i < 104; ++i) sums += ",s" + std::to_string(i);
  // 640 threads leave 96 registers each, and this instruction alone names more.
  const auto output = compile(
      "extern \"C\" __global__ void __launch_bounds__(640) k(unsigned long long d) { asm "
      "volatile(\"{ .reg .f32 s<104>; "
      "wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 {" +
      sums + "}, %0, %0, 1, 1, 1, 0, 0; }\" :: \"l\"(d)); }");
  REQUIRE(output.is_rejected());
  testing::expect_code(output.rejected(), "compile.error");
  INFO(output.rejected().message);
  CHECK(output.rejected().message.find("Insufficient registers") != std::string::npos);
}

TEST_CASE("a source that crashes NVRTC costs nothing but itself") {
  const auto crash = compile(
      "__global__ void k() {\n}}\n}\nint y = atomicAdd((int*)0, static_cast<T<int>>(1));\n");
  REQUIRE(crash.is_rejected());
  CHECK(compile(saxpy));
}

TEST_CASE("the sandbox says what holds") {
  const SandboxState& state = pool().sandbox();
  CHECK(state.limits);
  CHECK(state.seccomp);
  CHECK(!state.compiler_path.empty());
  WARN("landlock ABI " << state.landlock << ", " << state.compiler << " at "
                       << state.compiler_path);
}

TEST_CASE("no file of the machine reaches the log") {
  for (const char* text : {"#include \"/etc/passwd\"\n", "#include \"/proc/self/environ\"\n",
                           "#include \"../etc/passwd\"\n", "#include \"/proc/self/maps\"\n",
                           "#include <etc/passwd>\n"}) {
    const auto output = compile(std::string(text) + saxpy);
    CAPTURE(text);
    REQUIRE(output.is_rejected());
    CHECK(output.rejected().message.find("root:") == std::string::npos);
    CHECK(output.rejected().message.find("canary-5f1d") == std::string::npos);
    CHECK(output.rejected().message.find("libnvrtc") == std::string::npos);
  }
}

TEST_CASE("a pipe as include does not hold the pool up") {
  const std::string path = "/tmp/cupilot_fifo_" + std::to_string(getpid());
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const auto output = compile("#include \"" + path + "\"\n" + saxpy);
  unlink(path.c_str());
  REQUIRE(output.is_rejected());
  CHECK(compile(saxpy));
}

TEST_CASE("a template bomb ends at the deadline and the pool goes on") {
  BackendOptions options;
  options.compile_seconds = 3;  // enough for saxpy on a loaded machine
  options.compile_jobs = 1;
  auto impatient = CompilePool::open(options);
  REQUIRE(impatient);
  CompileRequest request;
  request.arch = "sm_90a";
  request.text =
      "template <int D, int I> struct T { static constexpr int v = T<D - 1, 2 * I>::v + T<D - 1, 2 "
      "* I + 1>::v; };\n"
      "template <int I> struct T<0, I> { static constexpr int v = I; };\n"
      "extern \"C\" __global__ void k(int* x) { *x = T<22, 0>::v; }\n";
  const auto output = (*impatient)->compile(request);
  REQUIRE(output.is_rejected());
  testing::expect_code(output.rejected(), "compile.timeout");
  request.text = saxpy;
  CHECK((*impatient)->compile(request));
}

TEST_CASE("caps hold") {
  const auto large = compile(std::string(CompileCaps{}.source + 1, ' '));
  REQUIRE(large.is_rejected());
  testing::expect_code(large.rejected(), "gate.source_size");
  std::string noisy = saxpy;
  for (int i = 0; i < 3000; ++i)
    noisy += "\n#warning \x01 a long line that fills the log to its cap";
  const auto output = compile(noisy);
  REQUIRE(output);
  CHECK(output->log.size() <= log_cap);
  CHECK(output->log.find('\x01') == std::string::npos);
}

TEST_CASE("caps are those of the author and of the number of kernels") {
  CompileRequest request;
  request.arch = "sm_90a";
  request.ptx_only = true;
  request.text = std::string(CompileCaps{}.source, ' ') + saxpy;
  testing::expect_code(pool().compile(request), "gate.source_size");
  for (const CompileCaps& caps : {candidate_caps(2), own_caps}) {
    request.caps = caps;
    CHECK(pool().compile(request));
  }
  request.caps.ptx = 100;
  testing::expect_code(pool().compile(request), "compile.output_size");
  CHECK(candidate_caps(1).source == CompileCaps{}.source);
  CHECK(candidate_caps(1000).ptx == own_caps.ptx);
}

TEST_CASE("PTX over its cap is refused by size") {
  std::string text = "#define A \"// a line of thirty-two letters.. \\n\"\n";
  for (char level = 'B'; level <= 'F'; ++level) {
    text += std::string("#define ") + level;
    for (int i = 0; i < 10; ++i) text += std::string(" ") + static_cast<char>(level - 1);
    text += "\n";
  }
  CompileRequest request{
      text + "extern \"C\" __global__ void k() { asm volatile(F F); }", "sm_90a", {}, {}, true};
  BackendOptions options;  // of the common pool's deadline, a sanitized compiler on a busy machine
                           // leaves little
  options.compile_jobs = 1;
  auto patient = CompilePool::open(options);
  REQUIRE(patient);
  testing::expect_code((*patient)->compile(request), "compile.output_size");
}

TEST_CASE("a log keeps its first and last errors, and is text that may be shown") {
  std::string many;
  for (int i = 0; i < 3000; ++i)
    many += "int a" + std::to_string(i) + " = missing" + std::to_string(i) + ";\n";
  const auto output = compile(many + saxpy);
  REQUIRE(output.is_rejected());
  testing::expect_code(output.rejected(), "compile.error");
  CHECK(output.rejected().message.find("missing0") != std::string::npos);
  CHECK(output.rejected().message.size() < 8192);
  CHECK(output.rejected().message.find("more]") != std::string::npos);

  struct Row {
    std::string raw, clean;
  };
  const std::vector<Row> rows = {
      {"a\x1b[2Jb\rc\td\n", "a[2Jbc\td\n"},
      {"\xc2\x9b 2J \xc2\x85", " 2J "},  // control characters of eight bits
      {"\xe2\x80\xae DESSAP \xe2\x81\xa6\xef\xbb\xbf",
       " DESSAP "},  // letters that turn the reading direction
      {"\xff\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80 x\xe2\x82", " x"},  // no UTF-8, cut UTF-8
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {std::string("a\0b\x7f", 4), "ab"},
  };
  for (const Row& row : rows) CHECK(clean_log(row.raw) == row.clean);
  const std::string lengthy = "first error\n" + std::string(200 << 10, 'x') + "\nlast error";
  const std::string cut = clean_log(lengthy);
  CHECK(cut.size() <= log_cap);
  CHECK(cut.rfind("first error\n", 0) == 0);
  CHECK(cut.substr(cut.size() - 10) == "last error");
  std::string wide = "x";
  for (int i = 0; i < 60000; ++i) wide += "\xe2\x82\xac";
  const std::string cut_wide = clean_log(wide);
  CHECK(clean_log(cut_wide) == cut_wide);
  CHECK(cut_wide.size() > log_cap - 16);
}

TEST_CASE("Landlock alone keeps every file of the machine out of the log") {
  namespace fs = std::filesystem;
  if (pool().sandbox().landlock == 0) {
    WARN("no Landlock here: sources that say include are refused before");
    return;
  }
  int sources = 0;
  for (const auto& entry : fs::directory_iterator(CUPILOT_SOURCE_DIR "/tests/hostile/hostile")) {
    if (entry.path().filename().string().rfind("e02_", 0) != 0) continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    INFO(entry.path());
    ++sources;
    CompileRequest request{text, "sm_90a", {}, {}, true};
    const auto output = pool().compile(request);
    REQUIRE_FALSE(output.is_error());
    const std::string seen =
        output.is_rejected() ? output.rejected().message : output->log + output->ptx;
    for (const char* secret :
         {"root:x:", "canary-5f1d", "daemon:", "a password file", "VmPeak", "cupilot-worker"}) {
      CHECK(seen.find(secret) == std::string::npos);
    }
  }
  CHECK(sources >= 25);
}

TEST_CASE("two threads compile at once", "[threads]") {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&good] {
      if (compile(saxpy)) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 4);
}

TEST_CASE("a compile that waits for its turn says so", "[threads]") {
  std::vector<PhaseSeconds> spent(6);  // of a pool with two compilers
  std::vector<std::thread> threads;
  for (PhaseSeconds& one : spent) {
    threads.emplace_back([&one] {
      const PhaseLog log;
      {
        const Phase phase("compile");
        (void)compile(saxpy);
      }
      one = log.seconds();
    });
  }
  for (std::thread& thread : threads) thread.join();
  int waited = 0;
  for (const PhaseSeconds& one : spent) {
    for (const auto& [path, seconds] : one) {
      CHECK(is_waiting(path) == (path != "compile"));
      if (path == "compile/wait for a compiler" && seconds > 0.5 * one.at("compile")) ++waited;
    }
  }
  CHECK(waited >= 2);
}

TEST_CASE("answers of every kind come through") {
  for (int kind = 0; kind <= static_cast<int>(CompileAnswer::Kind::no_assembler); ++kind) {
    CompileAnswer answer;
    answer.kind = static_cast<CompileAnswer::Kind>(kind);
    answer.message = "why";
    const auto read = unpack_answer(pack(answer));
    REQUIRE(read);
    CHECK(read->kind == answer.kind);
    CHECK(read->message == "why");
  }
  CompileAnswer beyond;
  beyond.kind =
      static_cast<CompileAnswer::Kind>(static_cast<int>(CompileAnswer::Kind::no_assembler) + 1);
  CHECK_FALSE(unpack_answer(pack(beyond)));
}

TEST_CASE("PTX that does not assemble is told in the assembler's words") {
  CompileRequest request;
  request.arch = "sm_90a";
  request.is_ptx = true;
  request.text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nfrobnicate;\n}\n";
  const auto output = pool().compile(request);
  REQUIRE(output.is_rejected());
  testing::expect_code(output.rejected(), "compile.error");
  CHECK(output.rejected().message.find("frobnicate") != std::string::npos);
}

TEST_CASE("a missing worker is named") {
  BackendOptions options;
  options.worker_path = "/nowhere/cupilot-worker";
  const auto opened = CompilePool::open(options);
  REQUIRE(!opened);
  CHECK(opened.error().message.find("/nowhere/cupilot-worker") != std::string::npos);
  options.worker_path = "/bin/true";
  const auto mute = CompilePool::open(options);
  REQUIRE(!mute);
  CHECK(mute.error().message.find("/bin/true") != std::string::npos);
}
