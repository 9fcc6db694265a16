#include "gpu.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/compile/pool.hpp"
#include "catch.hpp"

namespace gpu {

using namespace cupilot;

Backend& backend() {
  static const std::unique_ptr<Backend> instance = [] {
    // Another device's name lets the tests be tried where there is no GPU.
    const char* name = std::getenv("CUPILOT_GPU_TEST_DEVICE");
    BackendOptions options;
    if (const char* cudnn = std::getenv("CUPILOT_CUDNN")) options.cudnn = {cudnn};
    auto opened = open_backend(name != nullptr ? name : "cuda:0", options);
    if (!opened) FAIL(opened.error().message);
    for (const std::string& notice : (*opened)->traits().notices) WARN(notice);
    return std::move(*opened);
  }();
  return *instance;
}

Task gemm(const GemmSpec& spec) {
  auto task = gemm_task(spec);
  if (!task) FAIL(task.error().message);
  return std::move(*task);
}

Workload shape(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  return {{{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}, 1.0};
}

CompiledKernel with_plan(const std::string& text) {
  KernelSource source;
  source.text = text;
  PlanLaunch launch;
  launch.name = launch.entry = "k";
  launch.grid = {"cdiv(n,16)", "cdiv(m,16)"};
  launch.block = {16, 16};
  for (const char* name : {"A", "B", "D"})
    launch.args.push_back({PlanArgument::Kind::name, name, 0});
  for (const char* size : {"m", "n", "k"})
    launch.args.push_back({PlanArgument::Kind::i32, "", size});
  source.plan.launches.push_back(launch);
  auto kernel = backend().compile(source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code + ": " + kernel.rejected().message);
  if (kernel.is_error()) FAIL(kernel.error().message);
  return std::move(*kernel);
}

std::string sgemm_text(const std::string& body) {
  return "extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, int n, "
         "int k) {\n"
         "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
         "  float s = 0;\n"
         "  if (r < m && c < n)\n"
         "    for (int i = 0; i < k; ++i) s += A[(long long)r * k + i] * B[(long long)i * n + "
         "c];\n  " +
         body + "\n}\n";
}

CompiledKernel simple_sgemm(const std::string& body) { return with_plan(sgemm_text(body)); }

CompiledKernel ungated(const std::string& text, const std::vector<std::string>& grid) {
  static const std::unique_ptr<CompilePool> pool = [] {
    auto opened = CompilePool::open({});
    if (!opened) FAIL(opened.error().message);
    return std::move(*opened);
  }();
  CompiledKernel kernel = simple_sgemm();
  CompileRequest request;
  request.text = text;
  request.arch = backend().device().arch;
  auto output = pool->compile(request);
  if (output.is_rejected()) FAIL(output.rejected().message);
  if (output.is_error()) FAIL(output.error().message);
  kernel.cubin = output->cubin;
  if (!grid.empty()) kernel.source.plan.launches[0].grid.assign(grid.begin(), grid.end());
  return kernel;
}

CaseReport prove(const Task& task, const CompiledKernel& kernel, const Case& what) {
  auto report = backend().run(TaskRef(task), kernel, {&what, 1});
  if (!report) FAIL(report.error().message);
  REQUIRE(report->cases.size() == 1);
  return report->cases[0];
}

std::string faults(const CaseReport& report) {
  std::string all;
  for (const Fault& fault : report.faults) all += (all.empty() ? "" : " ") + fault.code;
  return all;
}

bool good(const CaseReport& report) {
  if (!report.faults.empty() || report.outputs.empty()) return false;
  for (const OutputReport& output : report.outputs) {
    if (output.failed != 0 || output.never_written != 0 || output.compared == 0) return false;
  }
  return true;
}

int kill_worker(const std::string& role) {
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream words(entry.path() / "cmdline"), status(entry.path() / "stat");
    std::string line, numbers;
    std::getline(words, line, '\0');
    std::string argument;
    std::getline(words, argument, '\0');
    std::getline(status, numbers);
    if (line.find("cupilot-worker") == std::string::npos || argument != role) continue;
    if (numbers.find(" " + std::to_string(getpid()) + " ") == std::string::npos) continue;
    killed += kill(std::stoi(entry.path().filename()), SIGKILL) == 0;
  }
  return killed;
}

void note(const std::vector<std::pair<std::string, std::string>>& members) {
  const char* path = std::getenv("CUPILOT_GPU_NOTES");
  if (path == nullptr) return;
  std::string line;
  for (const auto& [name, value] : members)
    line += (line.empty() ? "{\"" : ", \"") + name + "\": \"" + value + "\"";
  std::ofstream(path, std::ios::app) << line + "}\n";
}

}  // namespace gpu
