// Every chip compiles for its own architecture, runs, counts and profiles; what it lacks is
// refused.
#include <cupilot/parts/profile.hpp>

#include "catch.hpp"
#include "support/kept_images.hpp"
#include "support/reached.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

const char* const row_sum_body = R"({
  __shared__ float part[128];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += x[(long long)blockIdx.x * cols + c];
  part[threadIdx.x] = sum;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
})";

std::unique_ptr<Backend> opened(const std::string& chip) {
  BackendOptions options = testing::kept_images();
  options.compile_jobs = 1;
  auto backend = open_virtual(chip, options);
  if (!backend) FAIL(backend.error().message);
  return std::move(*backend);
}

}  // namespace

TEST_CASE("every chip compiles, proves, times and profiles a kernel", "[chips][threads]") {
  const Task task = row_sum_task(300, 1000);
  const KernelSource source = row_sum_source(std::string(row_sum_head) + row_sum_body);
  for (const std::string& name : known_chips()) {
    CAPTURE(name);
    const auto backend = opened(name);
    const auto kernel = backend->compile(source);
    REQUIRE(kernel);
    CHECK(kernel->arch == backend->device().arch);
    CHECK(kernel->ptx.find(".target " + backend->device().arch) != std::string::npos);
    const Case one{.workload = task.time_shapes[0], .content = {1, ContentKind::ordinary}};
    const auto report = backend->run(TaskRef(task), *kernel, {&one, 1});
    REQUIRE(report);
    REQUIRE(report->cases[0].faults.empty());
    CHECK(report->cases[0].outputs[0].failed == 0);
    const auto profile = backend->inspector().profile(TaskRef(task), *kernel, task.time_shapes[0]);
    REQUIRE(profile);
    const LaunchProfile& launch = profile->launches.at(0);
    CHECK(profile->device == "virtual:" + name);
    CHECK(profile->floor_us > 0);
    CHECK(launch.residency.blocks ==
          resident_blocks(backend->device(), 128, launch.registers, 512));
    CHECK(launch.residency.limit == "threads");
    CHECK(launch.total.warps == Approx(launch.counts[Counter::warp_instructions].value));
    CHECK(launch.time.us <= profile->time.us);
  }
}

TEST_CASE("what came with Hopper does not compile for earlier chips, in CUDA and in PTX",
          "[chips]") {
  KernelSource source = row_sum_source(
      std::string(row_sum_head) + "{ asm volatile(\"wgmma.fence.sync.aligned;\"); y[0] = 0; }");
  KernelSource text;
  text.language = Language::ptx;
  text.text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n";
  PlanLaunch launch;
  launch.name = launch.entry = "k";
  launch.grid = {Expr(1)};
  launch.block = {Expr(32)};
  text.plan.launches = {launch};
  for (const std::string& name : known_chips()) {
    CAPTURE(name);
    const auto backend = opened(name);
    const bool hopper = backend->device().compute_major == 9;
    const auto cuda = backend->compile(source), ptx = backend->compile(text);
    CHECK(cuda.is_rejected() == !hopper);
    CHECK(ptx.is_rejected() == !hopper);
    if (cuda.is_rejected()) testing::expect_code(cuda.rejected(), "compile.error");
    if (ptx.is_rejected()) testing::expect_code(ptx.rejected(), "load.failed");
  }
}

}  // namespace cupilot
