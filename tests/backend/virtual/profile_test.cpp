// Profiles of the virtual device: what their lines rest on, and that they agree with the counts.
#include <cupilot/parts/profile.hpp>

#include <numeric>

#include "catch.hpp"
#include "support/reached.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

CompiledKernel compiled(const KernelSource& source) {
  auto kernel = virtual_h200().compile(source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code << ": " << kernel.rejected().message);
  REQUIRE(kernel);
  return *kernel;
}

Profile profile_of(const Task& task, const KernelSource& source) {
  const auto profile =
      virtual_h200().inspector().profile(TaskRef(task), compiled(source), task.time_shapes[0]);
  if (profile.is_rejected()) FAIL(profile.rejected().code << ": " << profile.rejected().message);
  REQUIRE(profile);
  REQUIRE(profile->launches.size() == 1);
  return *profile;
}

LaunchProfile profiled(const Task& task, const KernelSource& source) {
  return profile_of(task, source).launches[0];
}

// A thread a row, straight down: each load of a warp touches 32 lines.
const char* const strided = R"({
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += x[(long long)row * cols + c];
  y[row] = sum;
})";

KernelSource strided_source() {
  KernelSource source = row_sum_source(std::string(row_sum_head) + strided);
  source.plan.launches[0].grid = {Expr("cdiv(rows, 128)")};
  return source;
}

void check_sums(const LaunchProfile& launch) {
  double kinds = 0, lines = 0, sectors = 0;
  for (const InstructionKind& kind : launch.kinds) kinds += kind.work.warps;
  for (const ProfiledLine& line : launch.lines)
    lines += line.work.warps, sectors += line.work.sectors;
  const double counted = launch.counts[Counter::warp_instructions].value;
  CHECK(kinds == Approx(counted));
  CHECK(lines == Approx(counted));
  CHECK(launch.total.warps == Approx(counted));
  CHECK(sectors == Approx(launch.total.sectors));
}

}  // namespace

TEST_CASE("a small plan is profiled from all its blocks", "[profile][threads]") {
  const LaunchProfile launch = profiled(row_sum_task(256, 64), strided_source());
  CHECK(launch.lines_from == "all 2 blocks");
  check_sums(launch);
  // 64 steps of 8 warps, a sector a lane: rows lie 256 bytes apart.
  CHECK(launch.total.sectors == 8 * 64 * 32 + 8 * 4);
  CHECK(launch.total.requests == 8 * 64 + 8);
  // Eight loads in a row take of one sector: the first level of caches has it for seven.
  CHECK(launch.counts[Counter::l2_bytes].value == 256 * 64 * 4 + 256 * 4);
  CHECK(launch.counts[Counter::l2_bytes].high == 32 * (8 * 64 * 32 + 8 * 4));
}

TEST_CASE(
    "a large plan is profiled from some of its blocks, a fault there or at a small shape refuses "
    "it",
    "[profile][threads]") {
  const Task task = row_sum_task(1 << 16, 2048);
  const LaunchProfile launch = profiled(task, strided_source());
  CAPTURE(launch.lines_from);
  CHECK(launch.lines_from.find(" blocks") != std::string::npos);
  CHECK(launch.lines_from.find("all ") == std::string::npos);
  check_sums(launch);
  CHECK(launch.lines[0].file == "kernel.cu");
  CHECK(launch.lines[0].line == 5);

  KernelSource wrong = strided_source();
  wrong.text.replace(wrong.text.find("c < cols"), 8, "c <= cols");
  const auto refused =
      virtual_h200().inspector().profile(TaskRef(task), compiled(wrong), task.time_shapes[0]);
  REQUIRE(refused.is_rejected());
  testing::expect_code(refused.rejected(), "run.out_of_bounds");
  CHECK(refused.rejected().where.find("kernel.cu:5") != std::string::npos);
}

TEST_CASE("blocks that see one another are profiled together", "[profile][threads]") {
  const Task task = row_sum_task(1 << 14, 4096);
  // The last of a row's four parts to arrive adds them up.
  KernelSource source = row_sum_source(R"(
extern "C" __global__ void k(const float* x, float* y, float* parts, unsigned* tickets, int rows, int cols) {
  const int row = blockIdx.x, part = blockIdx.y, quarter = cols / 4;
  __shared__ float all[128];
  __shared__ bool last;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < quarter; c += 128) sum += x[(long long)row * cols + part * quarter + c];
  all[threadIdx.x] = sum;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  parts[row * 4 + part] = all[0];
  __threadfence();
  last = atomicAdd(&tickets[row], 1u) == 3;
  if (!last) return;
  __threadfence();
  volatile float* seen = parts;
  y[row] = (seen[row * 4] + seen[row * 4 + 1]) + (seen[row * 4 + 2] + seen[row * 4 + 3]);
})");
  source.plan.buffers = {{"parts", Expr("rows * 16"), BufferContent::scratch},
                         {"tickets", Expr("rows * 4"), BufferContent::zeroed}};
  PlanLaunch& launch = source.plan.launches[0];
  launch.grid = {Expr("rows"), Expr(4)};
  const auto name = [](const char* what) {
    return PlanArgument{PlanArgument::Kind::name, what, 0};
  };
  launch.args.insert(launch.args.begin() + 2, {name("parts"), name("tickets")});
  const LaunchProfile profile = profiled(task, source);
  CAPTURE(profile.lines_from);
  check_sums(profile);
  CHECK(profile.lines_from.find("all ") == 0);
  CHECK(profile.lines_from.find(" at ") != std::string::npos);
}

TEST_CASE("a profile says that a kernel computes too little for its task", "[profile][threads]") {
  Task task = row_sum_task(256, 64);
  CHECK(profile_of(task, strided_source()).conditions.empty());
  task.work.flops = "40*rows*cols";
  const Profile little = profile_of(task, strided_source());
  REQUIRE(little.conditions.size() == 1);
  CHECK(little.conditions[0].find("of the textbook's") != std::string::npos);
  CHECK(little.time.high_us > 3 * little.time.us);
}

TEST_CASE("a device without counters says so", "[profile]") {
  const auto fake = open_backend("fake:" CUPILOT_SOURCE_DIR "/tests/data/landscapes/small.json");
  REQUIRE(fake);
  const auto profile = (*fake)->inspector().profile(TaskRef(Task{}), CompiledKernel{}, Workload{});
  REQUIRE(profile.is_error());
  CHECK(profile.error().code == ErrorCode::usage);
  CHECK(profile.error().hint.find("virtual:") != std::string::npos);
}

}  // namespace cupilot
