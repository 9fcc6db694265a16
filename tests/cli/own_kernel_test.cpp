// Kernels of others' projects: files with several kernels, assertions, prints and clocks.
#include <filesystem>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;

namespace {

const char* const many = R"(#include <stdint.h>
#include <cassert>
#include <stdio.h>
extern "C" __global__ void first(float* x, float* y) {
  const int i = threadIdx.x;
  x[i] = i;
  __syncthreads();
  assert(x[i] < 100);
  if (i == 3) printf("%f\n", x[i]);
  const long long before = clock64();
  y[i] = x[63 - i] + (clock64() < before);
}
extern "C" __global__ void second(float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void third(float* x, float* y) {
  x[threadIdx.x] = threadIdx.x;
  assert(threadIdx.x < 60);
}
extern "C" __global__ void fourth(float* x, float* y) { if (threadIdx.x == 5) __trap(); }
extern "C" __global__ void fifth(float* x, float* y) { x[threadIdx.x + 1] = 1; }
)";

const char* const plan = R"({"buffers": [{"name": "x", "bytes": 256}, {"name": "y", "bytes": 256}],
 "launches": [{"entry": "first", "grid": [1], "block": [64], "args": ["x", "y"]}]})";

void expect(const Ran& ran, int exit, const std::string& words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  CHECK((ran.out + ran.err).find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("one kernel of a file with many is judged by itself", "[cli]") {
  const Scratch scratch;
  scratch.file("many.cu", many);
  scratch.file("plan.json", plan);
  struct Row {
    const char* flags;
    int exit;
    const char* says;
  };
  const Row rows[] = {
      {"", 8, "second, third, fourth, fifth are not in the launch plan"},
      {"--entry first", 0, "SAFE"},
      {"--entry second", 8, "run.uninitialised"},
      {"--entry third", 8, "assertion `threadIdx.x < 60` failed at many.cu:16"},
      {"--entry fourth", 8, "run.trap"},
      {"--entry fifth", 8, "run.out_of_bounds"},
      {"--entry sixth", 8, "gate.missing_entry"},
  };
  for (const Row& row : rows) {
    INFO(row.flags);
    const std::string flags = std::string("many.cu --launch plan.json ") + row.flags;
    expect(run("sanitize " + flags, scratch), row.exit, row.says);
  }
  expect(run("verify many.cu --launch plan.json --entry first --device virtual:h200", scratch), 0,
         "SAFE");
}

TEST_CASE("sanitize says that a plan with sizes of a task is for verify", "[cli]") {
  const Scratch scratch;
  scratch.file("sized.cu", R"(// cupilot: {"task":["gemm","m=4","n=4","k=4"]}
// cupilot: {"plan":{"launches":[{"entry":"k","grid":["m"],"block":[1],"args":[{"i32":"m"}]}]}}
extern "C" __global__ void k(int m) {}
)");
  const Ran ran = run("sanitize sized.cu", scratch);
  INFO(ran.out << ran.err);
  CHECK(ran.exit == 2);
  CHECK(ran.err.find("unknown name 'm'") != std::string::npos);
  CHECK(ran.err.find("prove it with `cupilot verify`") != std::string::npos);
}

TEST_CASE("a kernel's own headers are found, and places name them", "[cli]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path / "parts");
  std::filesystem::create_directories(scratch.path / "far");
  scratch.file("plan.json", R"({"buffers": [{"name": "x", "bytes": 256}],
 "launches": [{"entry": "k", "grid": [1], "block": [64], "args": ["x"]}]})");
  scratch.file("parts/index.cuh",
               "#pragma once\n#include \"deep.cuh\"\n"
               "__device__ int place(int i) {\n  return i + SHIFT;\n}\n");
  scratch.file("parts/deep.cuh", "#pragma once\n#include <stdint.h>\n#define SHIFT 0\n");
  scratch.file("far/store.cuh",
               "/* #include \"none.cuh\" */\n__device__ void store(float* x, int i) {\n"
               "  x[i] = 1;\n}\n");
  scratch.file("endless.cuh", "#include \"endless.cuh\"\n");
  const std::string head =
      "#include \"parts/index.cuh\"\n#include \"parts/deep.cuh\"\n# include <store.cuh>\n";
  scratch.file("good.cu", head +
                              "extern \"C\" __global__ void k(float* x) {\n"
                              "  store(x, place(threadIdx.x));\n}\n");
  scratch.file("bad.cu", head +
                             "extern \"C\" __global__ void k(float* x) {\n"
                             "  store(x, place(threadIdx.x));\n  x[64 + place(0)] = 1;\n}\n");
  scratch.file("deep.cu", head +
                              "extern \"C\" __global__ void k(float* x) {\n"
                              "  store(x, 1 + place(threadIdx.x));\n}\n");
  scratch.file("endless.cu", "#include \"endless.cuh\"\n");
  struct Row {
    const char* flags;
    int exit;
    const char* says;
  };
  const Row rows[] = {
      {"good.cu -I far", 0, "SAFE"},
      {"good.cu", 8, "store.cuh is not on the list of allowed includes"},
      {"good.cu", 8, "in a folder of -I"},
      {"bad.cu -I far", 8, "x[64 + place(0)] = 1;"},
      {"bad.cu -I far", 8, "bad.cu:6"},
      {"deep.cu -I far", 8, "store.cuh:3"},
      {"endless.cu", 2, "its includes nest without end"},
  };
  for (const Row& row : rows) {
    INFO(row.flags);
    expect(run(std::string("sanitize ") + row.flags + " --launch plan.json", scratch), row.exit,
           row.says);
  }
}

TEST_CASE("a strategy of other sizes is given the nearest values that the sizes allow", "[cli]") {
  const Scratch scratch;
  const auto wide = scratch.file("wide.json", R"({"format": "cupilot strategy 1", "techniques": [
    {"name": "vector_load", "values": {"vector": 4}}, {"name": "pointwise", "values": {"threads": 64}}]})");
  const auto verify = [&](const std::string& sizes) {
    return run("verify '" + wide.string() + "' --task kernelbench:1/25 " + sizes +
                   " --device virtual:h200",
               scratch);
  };
  const Ran even = verify("rows=4 cols=64"), odd = verify("rows=3 cols=37");
  expect(even, 0, "PROVED");
  CHECK(even.err.find("does not fit these sizes") == std::string::npos);
  expect(odd, 0, "PROVED");
  CHECK(odd.err.find("does not fit these sizes") != std::string::npos);
}

TEST_CASE("a strategy of a run at other sizes is fitted to the task's", "[cli]") {
  const Scratch scratch;
  const std::string device = " --device virtual:h200";
  REQUIRE(
      run("evolve gemm m=1024 n=512 k=512 --evaluations 1 --run found" + device, scratch).exit ==
      0);
  // A tile of the whole of the smaller result.
  const std::string wide = R"({"format": "cupilot strategy 1", "techniques": [
    {"name": "simt_core"}, {"name": "block_tile", "values": {"block_m": 128, "block_n": 128}},
    {"name": "thread_tile", "values": {"thread_m": 8, "thread_n": 8}}]})";
  scratch.file("found/best/strategy.json", wide);
  scratch.file("alone.json", wide);
  const auto verify = [&](const std::string& file, const std::string& more) {
    return run("verify " + file + " --task gemm m=256 n=128 k=512 " + more + device, scratch);
  };
  struct Row {
    const char *file, *more;
    bool fits;
  };
  for (const Row& row :
       {Row{"found/best/strategy.json", "", true},
        Row{"found/best/strategy.json", "--as-is", false}, Row{"alone.json", "", false}}) {
    INFO(row.file << " " << row.more);
    const Ran ran = verify(row.file, row.more);
    expect(ran, 0, "PROVED");
    CHECK((ran.err.find(
               "found at batch=1 k=512 m=1024 n=512; its numbers are fitted to these sizes") !=
           std::string::npos) == row.fits);
  }
}

TEST_CASE("a kernel may include the device headers that ship", "[cli]") {
  const Scratch scratch;
  scratch.file("plan.json", R"({"buffers": [{"name": "x", "bytes": 256}],
 "launches": [{"entry": "k", "grid": [1], "block": [64], "args": ["x"]}]})");
  const std::string kernel =
      "extern \"C\" __global__ void k(float* x) {\n  bf16 one{16256};\n"
      "  x[threadIdx.x] = to_float(one);\n}\n";
  scratch.file("good.cu",
               "#include \"cupilot/types.cuh\"\n#include \"cupilot/vector.cuh\"\n"
               "#include \"cupilot/types.cuh\"\n" +
                   kernel);
  scratch.file("none.cu", "#include \"cupilot/typos.cuh\"\n" + kernel);
  expect(run("verify good.cu --launch plan.json --device virtual:h200", scratch), 0, "SAFE");
  expect(run("verify none.cu --launch plan.json --device virtual:h200", scratch), 8,
         "gate.include");
}
