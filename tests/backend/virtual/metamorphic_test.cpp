// Runs of one kernel against each other: repeats, relations, overlapping and least aligned inputs.
#include "catch.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

CaseReport ran(const KernelSource& source, const Task& task, Case what) {
  const Attempt<CompiledKernel> kernel = virtual_h200().compile(source);
  if (!kernel)
    throw std::runtime_error(kernel.is_error() ? kernel.error().message
                                               : kernel.rejected().message);
  what.workload = task.time_shapes[0];
  auto report = virtual_h200().run(TaskRef(task), *kernel, {&what, 1});
  if (!report) throw std::runtime_error(report.error().message);
  return report->cases.at(0);
}

KernelSource row_sum(const std::string& body) { return row_sum_source(row_sum_head + body); }

// A row by several blocks that add to it: legal, but the order is the device's.
KernelSource atomic_sum() {
  KernelSource source = row_sum_source(
      "extern \"C\" __global__ void clear(float* y, int rows) { if (threadIdx.x < rows) "
      "y[threadIdx.x] = 0; }\n"
      "extern \"C\" __global__ void k(const float* x, float* y, int rows, int cols) {\n"
      "  float a = 0;\n"
      "  for (int c = blockIdx.y; c < cols; c += gridDim.y) a += x[blockIdx.x * cols + c];\n"
      "  if (threadIdx.x == 0) atomicAdd(y + blockIdx.x, a);\n}");
  PlanLaunch clear = source.plan.launches[0];
  clear.name = clear.entry = "clear";
  clear.grid = {1};
  clear.args = {source.plan.launches[0].args[1], source.plan.launches[0].args[2]};
  source.plan.launches[0].grid = {Expr("rows"), 16};
  source.plan.launches.insert(source.plan.launches.begin(), clear);
  return source;
}

TEST_CASE("Repeats tell a fixed order of summation from the device's", "[threads]") {
  const Task task = row_sum_task(24, 300);
  const CaseReport fixed = ran(row_sum(row_sum_honest), task, {.repeats = 3});
  CHECK(fixed.repeats_done == 3);
  CHECK(fixed.outputs.at(0).repeat_differs == 0);
  const CaseReport loose = ran(atomic_sum(), task, {.repeats = 3});
  CHECK(loose.repeats_done == 3);
  CHECK(loose.faults.empty());
  CHECK(loose.outputs.at(0).failed == 0);
  CHECK(loose.outputs.at(0).repeat_differs > 0);
  CHECK(ran(row_sum(row_sum_honest), task, {}).repeats_done == 0);
}

const char* const quantised = R"({
  float a = 0;
  for (int c = 0; c < cols; ++c) a += rintf(x[blockIdx.x * cols + c] * 1048576.f) * (1.f / 1048576.f);
  if (threadIdx.x == 0) y[blockIdx.x] = a;
})";

const char* const by_row_parity = R"({
  float a = 0;
  const int step = (blockIdx.x & 8) ? 7 : 1;
  for (int first = 0; first < step; ++first) {
    float part = 0;
    for (int c = first; c < cols; c += step) part += x[blockIdx.x * cols + c];
    a += part;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = a;
})";

TEST_CASE("Relations hold bitwise for arithmetic that knows no scale and no place", "[threads]") {
  struct Row {
    const char* what;
    std::string body;
    Variation variation;
    bool follows;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"honest, scaled", row_sum_honest, Variation::scaled, true},
      {"honest, swapped", row_sum_honest, Variation::swapped, true},
      {"quantised, scaled", quantised, Variation::scaled, false},
      {"quantised, swapped", quantised, Variation::swapped, true},
      {"order by row, scaled", by_row_parity, Variation::scaled, true},
      {"order by row, swapped", by_row_parity, Variation::swapped, false},
  }));
  INFO(row.what);
  const CaseReport report =
      ran(row_sum(row.body), row_sum_task(37, 200), {.content = {.variation = row.variation}});
  CHECK(report.related);
  REQUIRE(report.outputs.size() == 1);
  CHECK(report.outputs[0].failed == 0);
  CHECK((report.outputs[0].relation_differs == 0) == row.follows);
}

TEST_CASE("A relation the reference does not obey is not asked for", "[threads]") {
  Task task = row_sum_task(16, 40);
  task.reference.text.replace(task.reference.text.find("return sum;"), 11,
                              "return sum + real(1.0);");
  const std::string body =
      std::string(row_sum_honest)
          .replace(std::string(row_sum_honest).find("= s[0]"), 6, "= s[0] + 1.f");
  const CaseReport report = ran(row_sum(body), task, {.content = {.variation = Variation::scaled}});
  CHECK(report.outputs.at(0).failed == 0);
  CHECK_FALSE(report.related);
}

// y = x / 2 in fp16, of which few are denormals of fp16.
TEST_CASE("Results that are rounded as denormals need not follow an input doubled", "[threads]") {
  Task task = row_sum_task(64, 64);
  task.name = "half";
  task.axes[1].kind = AxisKind::free;
  task.operations.clear();
  task.tensors[0].type = task.tensors[1].type = DType::f16;
  task.tensors[0].fill = {.kind = FillKind::uniform, .low = 0x1p-14, .high = 0x1p-6};
  task.tensors[1].shape = task.tensors[0].shape;
  task.tensors[1].check.length = 1;
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i) * real(0.5); "
      "}\n";
  const auto half = [&](const std::string& factor) {
    return ran(
        row_sum_source(
            "#include <cuda_fp16.h>\n"
            "extern \"C\" __global__ void k(const __half* x, __half* y, int rows, int cols) {\n"
            "  for (int i = blockIdx.x * cols + threadIdx.x; i < (blockIdx.x + 1) * cols; i += "
            "blockDim.x) {\n"
            "    const float v = __half2float(x[i]);\n"
            "    y[i] = __float2half(v * " +
            factor + ");\n  }\n}"),
        task, {.content = {.variation = Variation::scaled}});
  };
  const CaseReport honest = half("0.5f");
  CHECK(honest.related);
  CHECK(honest.outputs.at(0).failed == 0);
  CHECK(honest.outputs.at(0).relation_differs == 0);
  CHECK(half("(fabsf(v) < 0x1p-7f ? 0.5f : 0.5005f)").outputs.at(0).relation_differs > 0);
}

// y = x + z.
Task add_task(std::int64_t alignment) {
  Task task = row_sum_task(8, 64);
  task.name = "add";
  task.axes[1].kind = AxisKind::free;
  Tensor z = task.tensors[0];
  z.name = "z";
  task.tensors.insert(task.tensors.begin() + 1, z);
  task.tensors[2].shape = z.shape;
  task.tensors[2].check.length = 1;
  for (Tensor& tensor : task.tensors) tensor.alignment = alignment;
  task.operations.clear();
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i) + in.z(i); }\n";
  return task;
}

KernelSource add_source(const std::string& body) {
  KernelSource source = row_sum_source(
      "extern \"C\" __global__ void k(const float* x, const float* z, float* y, int rows, int "
      "cols) {\n"
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n" +
      body + "}");
  auto& launch = source.plan.launches[0];
  launch.args.insert(launch.args.begin() + 1, PlanArgument{PlanArgument::Kind::name, "z", 0});
  return source;
}

TEST_CASE("Overlapping inputs are one buffer, and right answers stay right", "[threads]") {
  const KernelSource honest = add_source("if (i < rows * cols) y[i] = x[i] + z[i];");
  const KernelSource told = add_source("if (i < rows * cols) y[i] = x == z ? 0.f : x[i] + z[i];");
  const Case overlap{.content = {.variation = Variation::overlap}};
  CHECK(ran(honest, add_task(256), overlap).outputs.at(0).failed == 0);
  CHECK(ran(told, add_task(256), {}).outputs.at(0).failed == 0);
  CHECK(ran(told, add_task(256), overlap).outputs.at(0).failed > 0);
}

TEST_CASE("Bases are no better aligned than the task says", "[threads]") {
  const KernelSource wide = add_source(
      "if (4 * i < rows * cols) { const float4 a = ((const float4*)x)[i], b = ((const "
      "float4*)z)[i];\n"
      "  ((float4*)y)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }");
  const Case least{.least_aligned = true};
  CHECK(ran(wide, add_task(256), least).faults.empty());
  CHECK(ran(wide, add_task(16), least).faults.empty());
  const CaseReport bad = ran(wide, add_task(4), least);
  REQUIRE_FALSE(bad.faults.empty());
  CHECK(bad.faults[0].code == "run.misaligned");
  CHECK(ran(add_source("if (i < rows * cols) y[i] = x[i] + z[i];"), add_task(4), least)
            .outputs.at(0)
            .failed == 0);
}

TEST_CASE("Values of one term are known, and what they lost is told", "[threads]") {
  const Task task = row_sum_task(64, 200);
  const Case probe{.content = {.kind = ContentKind::probe}};
  const CaseReport honest = ran(row_sum(row_sum_honest), task, probe);
  CHECK(honest.outputs.at(0).one_term > 8);
  CHECK(honest.outputs.at(0).one_term_inexact == 0);
  // Four terms beside the single ones: their rounding is not held against anybody.
  CHECK(honest.outputs.at(0).one_term < 40);
}

}  // namespace
}  // namespace cupilot
