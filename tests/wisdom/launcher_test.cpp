// The launcher beside a best kernel compiles and holds the launch that resolve() gives.
#include <fmt/format.h>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <cupilot/parts/resolved_plan.hpp>

#include "catch.hpp"
#include "evolution/journal/run_files.hpp"
#include "kernel/plan_cpp.hpp"
#include "program/library_part.hpp"
#include "support.hpp"

using namespace cupilot;
namespace fs = std::filesystem;

namespace {

// Prints of a launcher whose library refuses algorithms when they run.
std::string refusing(const std::string& text, const char* library, const char* algorithms) {
  const fs::path folder = fs::temp_directory_path() / "cupilot-launcher-refusing-test";
  fs::create_directories(folder);
  std::ofstream(folder / "main.cpp") << text;
  std::ofstream(folder / "cudnn.h") << "#include <driver_types.h>\n#include \"" CUPILOT_SOURCE_DIR
                                       "/src/backend/worker/cudnn_calls.hpp\"\n";
  const std::string command = fmt::format(
      "cd '{0}' && {1} -std=c++17 -w -D{2} -isystem '{3}' -I. "
      "'{4}/tests/wisdom/refusing_library.cpp' "
      "-ffunction-sections -Wl,--gc-sections -o refusing && ./refusing {5} > said 2>&1",
      folder.string(), CUPILOT_CXX, library, CUPILOT_CUDA_INCLUDE, CUPILOT_SOURCE_DIR, algorithms);
  const int ended = std::system(command.c_str());
  std::ifstream said(folder / "said");
  std::string line;
  std::getline(said, line);
  fs::remove_all(folder);
  return fmt::format("{}: {}", WEXITSTATUS(ended), line);
}

}  // namespace

TEST_CASE("launchers of kernels compile and hold their resolved plans") {
  const DeviceSpec device = *chip("h200");
  const Task task = *gemm_task({.m = 512, .n = 384, .k = 256, .dtype = DType::bf16});
  const fs::path folder = fs::temp_directory_path() / "cupilot-launcher-test";
  fs::create_directories(folder);
  int launchers = 0;
  for (const KernelSource& source : support::sampled_sources(task)) {
    const auto resolution = resolve(source, task, task.time_shapes.front(), device, nullptr);
    if (!resolution || !std::holds_alternative<ResolvedPlan>(*resolution)) continue;
    INFO(source.template_name);
    CompiledKernel kernel;
    kernel.source = source;
    kernel.arch = "sm_90a";
    const auto text = launcher_text(task, device, kernel);
    REQUIRE(text);
    CHECK(text->find(assignments(plan_cpp(std::get<ResolvedPlan>(*resolution)))) !=
          std::string::npos);
    CHECK(text->find("const CUgraphExec graph = captured(stream);") != std::string::npos);
    // An entry that is extern "C" may stand in a namespace, where no expression names it.
    CHECK(text->find("unmangled = {\"" + source.plan.launches.front().entry + "\"") !=
          std::string::npos);
    std::ofstream(folder / "main.cpp") << *text;
    const std::string command =
        fmt::format("cd '{}' && {} -std=c++17 -Wall -Werror -fsyntax-only -isystem '{}' main.cpp",
                    folder.string(), CUPILOT_CXX, CUPILOT_CUDA_INCLUDE);
    CHECK(std::system(command.c_str()) == 0);
    ++launchers;
  }
  CHECK(launchers >= 3);
  fs::remove_all(folder);
}

TEST_CASE("a launcher whose plan has a library's step calls the library and compiles") {
  const DeviceSpec device = *chip("h200");
  const Task task = *gemm_task({.m = 512, .n = 384, .k = 256, .dtype = DType::bf16});
  const auto source = library_part(task, builtin_families());
  REQUIRE(source);
  CompiledKernel kernel;
  kernel.source = *source;
  kernel.arch = "sm_90a";
  const auto text = launcher_text(task, device, kernel);
  REQUIRE(text);
  CHECK(text->find("cublaslt_entries = {\"library_product\"}") != std::string::npos);
  CHECK(text->find("cudnn") == std::string::npos);
  CHECK(launcher_makefile(source->plan).find("-lcublasLt -lnvrtc") != std::string::npos);
  CHECK(launcher_makefile({}).find("cublasLt") == std::string::npos);
  const fs::path folder = fs::temp_directory_path() / "cupilot-launcher-library-test";
  fs::create_directories(folder);
  std::ofstream(folder / "main.cpp") << *text;
  const std::string command =
      fmt::format("cd '{}' && {} -std=c++17 -Wall -Werror -fsyntax-only -isystem '{}' main.cpp",
                  folder.string(), CUPILOT_CXX, CUPILOT_CUDA_INCLUDE);
  CHECK(std::system(command.c_str()) == 0);
  fs::remove_all(folder);
  CHECK(refusing(*text, "CUBLASLT", "") == "0: algorithm 0");
  CHECK(refusing(*text, "CUBLASLT", "0 1") == "0: algorithm 2");
  CHECK(refusing(*text, "CUBLASLT", "0 1 2") ==
        "1: the library refuses each of 3 algorithms for library_product, the last with error 15");
}

// The plan of a convolution as a step of cuDNN, whose header is made of the calls that we declare.
TEST_CASE("a launcher whose plan has a convolution of cuDNN says what it needs and compiles") {
  Task task;
  task.name = "convolution";
  task.axes = {{"n"}, {"h"}};
  task.tensors = {{.name = "x", .role = Role::in, .shape = {"n", 6, "h"}},
                  {.name = "v", .role = Role::in, .shape = {8, 6, 3}},
                  {.name = "y", .role = Role::out, .shape = {"n", 8, "h - 2"}}};
  task.operations = {{"conv", "conv1d", {"x", "v"}, {"y"}, {}}};
  task.time_shapes = {{{{"n", 2}, {"h", 30}}}};
  REQUIRE(complete(task));
  const auto source = library_part(task, builtin_families());
  REQUIRE(source);
  CompiledKernel kernel;
  kernel.source = *source;
  kernel.arch = "sm_90a";
  const auto text = launcher_text(task, *chip("h200"), kernel);
  REQUIRE(text);
  CHECK(text->find("// Needs the CUDA toolkit and cuDNN 9: make") != std::string::npos);
  CHECK(text->find("#include <cudnn.h>") != std::string::npos);
  CHECK(text->find("cudnn_entries = {\"library_convolution\"}") != std::string::npos);
  CHECK(text->find("cublasLt") == std::string::npos);
  const std::string makefile = launcher_makefile(source->plan);
  CHECK(makefile.find("# Needs cuDNN 9: cudnn.h in $(CUDNN_HOME)/include") != std::string::npos);
  CHECK(makefile.find("-l:libcudnn.so.9 -lnvrtc") != std::string::npos);
  CHECK(makefile.find("cublasLt") == std::string::npos);
  CHECK(launcher_makefile({}).find("CUDNN") == std::string::npos);
  const fs::path folder = fs::temp_directory_path() / "cupilot-launcher-cudnn-test";
  fs::create_directories(folder);
  std::ofstream(folder / "main.cpp") << *text;
  std::ofstream(folder / "cudnn.h") << "#include <driver_types.h>\n#include \"" CUPILOT_SOURCE_DIR
                                       "/src/backend/worker/cudnn_calls.hpp\"\n";
  const std::string command =
      fmt::format("cd '{}' && {} -std=c++17 -Wall -Werror -fsyntax-only -isystem '{}' -I. main.cpp",
                  folder.string(), CUPILOT_CXX, CUPILOT_CUDA_INCLUDE);
  CHECK(std::system(command.c_str()) == 0);
  fs::remove_all(folder);
  CHECK(refusing(*text, "CUDNN", "1") == "0: algorithm 0");
  CHECK(refusing(*text, "CUDNN", "0 1 2") ==
        "1: the library refuses each of 3 algorithms for library_convolution, the last with error "
        "15");
}
