// The launcher beside a best kernel compiles and holds the launch that resolve() gives.
#include <fmt/format.h>

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
  CHECK(text->find("library_entries = {\"library_product\"}") != std::string::npos);
  CHECK(text->find("return compute(step, products.at(&step), stream);") != std::string::npos);
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
}
