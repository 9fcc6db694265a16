// Textures and surfaces on a device: a product that reads and writes through them, and filters,
// addressing and formats that the kernel works out from the texels beside it. The same files are
// proved on the virtual device by tests/cli/textures_test.cpp.
#include <cupilot/parts/kernel_source.hpp>

#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

CompiledKernel kernel_of(const std::string& file) {
  const auto read =
      read_standalone(std::string(CUPILOT_SOURCE_DIR) + "/tests/data/textures/" + file);
  if (!read) FAIL(read.error().message);
  auto kernel = gpu::backend().compile(read->source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code + ": " + kernel.rejected().message);
  if (kernel.is_error()) FAIL(kernel.error().message);
  return std::move(*kernel);
}

Task copy_task() {
  auto task = load_task(std::string(CUPILOT_SOURCE_DIR) + "/tests/hostile/tasks/copy.json");
  if (!task) FAIL(task.error().message);
  return std::move(*task);
}

void prove_and_time(const Task& task, const CompiledKernel& kernel,
                    const std::vector<Case>& cases) {
  for (const Case& what : cases) {
    const CaseReport report = gpu::prove(task, kernel, what);
    CAPTURE(gpu::faults(report));
    CHECK(gpu::good(report));
  }
  const Subject contestant{Subject::Kind::candidate, "candidate", &kernel};
  const auto reports =
      gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1}, {});
  if (!reports) FAIL(reports.error().message);
  if ((*reports)[0].measurement.is_rejected()) FAIL((*reports)[0].measurement.rejected().message);
  CHECK((*reports)[0].measurement);
}

}  // namespace

TEST_CASE("a product reads a plane and linear memory as textures and stores through a surface") {
  GemmSpec spec;
  spec.m = 96, spec.n = 64, spec.k = 80;
  prove_and_time(gpu::gemm(spec), kernel_of("gemm.cu"),
                 {{gpu::shape(96, 64, 80), {5, ContentKind::ordinary}},
                  {gpu::shape(1, 1, 1), {6, ContentKind::ordinary}},
                  {gpu::shape(37, 19, 23), {7, ContentKind::ordinary}}});
}

TEST_CASE("filters, addressing and formats of textures are what the virtual device has") {
  prove_and_time(copy_task(), kernel_of("filters.cu"),
                 {{Workload{{{"n", 4096}}, 1.0}, {5, ContentKind::ordinary}},
                  {Workload{{{"n", 100}}, 1.0}, {6, ContentKind::ordinary}}});
}

TEST_CASE("a linear filter takes the nearest 256th of a texel, as the virtual device has it") {
  prove_and_time(copy_task(), kernel_of("fractions.cu"),
                 {{Workload{{{"n", 4096}}, 1.0}, {5, ContentKind::ordinary}}});
}
