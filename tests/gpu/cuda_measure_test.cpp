#include <algorithm>

#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>

#include "catch.hpp"
#include "gpu.hpp"
#include "program/library_part.hpp"

using namespace cupilot;

namespace {

std::string line(const SubjectReport& report) {
  if (report.measurement.is_rejected())
    return report.name + ": " + report.measurement.rejected().code + " " +
           report.measurement.rejected().message;
  if (report.measurement.is_error()) return report.name + ": " + report.measurement.error().message;
  const Measurement& m = *report.measurement;
  return report.name + ": " + std::to_string(m.time_us) + " us, spread " +
         std::to_string(m.spread_us) + ", " + std::to_string(m.samples_us.size()) + " rounds";
}

}  // namespace

TEST_CASE("candidate, plain and library are timed in turn") {
  const CompiledKernel kernel = gpu::simple_sgemm();
  for (const std::int64_t size : {1024, 4096}) {
    GemmSpec spec;
    spec.m = spec.n = spec.k = size;
    const Task task = gpu::gemm(spec);
    const std::vector<Subject> contestants{{Subject::Kind::candidate, "candidate", &kernel},
                                           {Subject::Kind::candidate, "again", &kernel},
                                           {Subject::Kind::plain, "plain", nullptr},
                                           {Subject::Kind::library, "cublaslt", nullptr}};
    const auto reports =
        gpu::backend().measure(TaskRef(task), task.time_shapes[0], contestants, {});
    if (!reports) FAIL(reports.error().message);
    REQUIRE(reports->size() == 4);
    for (const SubjectReport& report : *reports) {
      WARN(size << " " << line(report));
      REQUIRE(report.measurement);
      // A slow plain kernel is timed less often.
      CHECK(report.measurement->samples_us.size() >= (report.name == "plain" ? 1 : 3));
      CHECK(report.proofs.size() >= report.measurement->samples_us.size());
    }
    CHECK(*(*reports)[3].measurement->samples_us.begin() <
          *(*reports)[0].measurement->samples_us.begin());
  }
}

TEST_CASE("the library's products are right in every layout, type and epilogue") {
  std::vector<GemmSpec> specs;
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      GemmSpec spec;
      spec.m = 512, spec.n = 384, spec.k = 256;
      spec.layout = layout;
      spec.dtype = type;
      specs.push_back(spec);
    }
  }
  GemmSpec batched;
  batched.m = 96, batched.n = 80, batched.k = 112, batched.batch = 64;
  specs.push_back(batched);
  GemmSpec odd = batched;
  odd.m = 1, odd.batch = 1, odd.n = 4096, odd.k = 512;
  specs.push_back(odd);
  GemmSpec epilogue;
  epilogue.m = 256, epilogue.n = 512, epilogue.k = 128;
  epilogue.alpha = 1.5, epilogue.beta = 0.5, epilogue.bias = true, epilogue.act = Activation::relu;
  specs.push_back(epilogue);
  GemmSpec reduced = epilogue;
  reduced.precision = Precision::tf32;
  specs.push_back(reduced);
  for (const GemmSpec& spec : specs) {
    const Task task = gpu::gemm(spec);
    const std::vector<Subject> contestants{{Subject::Kind::library, "cublaslt", nullptr},
                                           {Subject::Kind::plain, "plain", nullptr}};
    const auto reports =
        gpu::backend().measure(TaskRef(task), task.time_shapes[0], contestants, {3, 0.5, true, 1});
    if (!reports) FAIL(reports.error().message);
    CAPTURE(spec.layout, static_cast<int>(spec.dtype), spec.batch, spec.bias, line((*reports)[0]),
            line((*reports)[1]));
    CHECK((*reports)[0].measurement);
    CHECK((*reports)[1].measurement);
  }
}

TEST_CASE("the library's convolutions are right in every form, type and class") {
  const auto& libraries = gpu::backend().traits().libraries;
  if (std::find(libraries.begin(), libraries.end(), "cudnn") == libraries.end()) {
    WARN("no cuDNN: name it by CUPILOT_CUDNN");
    return;
  }
  struct Row {
    const char* kind;
    std::vector<Expr> x, weight, y;
    std::map<std::string, Attribute> attributes;
    DType type;
    Precision precision;
  };
  using Numbers = std::vector<std::int64_t>;
  const auto each = [](Numbers values) { return Attribute(std::move(values)); };
  const std::vector<Row> rows = {
      {"conv1d",
       {"n", 32, "w"},
       {48, 32, 5},
       {"n", 48, "w - 4"},
       {},
       DType::f32,
       Precision::fp32_strict},
      {"conv2d",
       {"n", 32, "h", "w"},
       {64, 16, 3, 3},
       {"n", 64, "(h - 1) / 2 + 1", "w"},
       {{"stride", each({2, 1})},
        {"padding", each({1, 2})},
        {"dilation", each({1, 2})},
        {"groups", Attribute(std::int64_t{2})}},
       DType::f32,
       Precision::fp32_strict},
      {"conv2d",
       {"n", 64, "h", "w"},
       {64, 64, 3, 3},
       {"n", 64, "h - 2", "w - 2"},
       {},
       DType::f32,
       Precision::tf32},
      {"conv2d",
       {"n", 64, "h", "w"},
       {64, 64, 3, 3},
       {"n", 64, "h - 2", "w - 2"},
       {},
       DType::bf16,
       Precision::bf16},
      {"conv2d",
       {"n", 64, "h", "w"},
       {64, 64, 1, 1},
       {"n", 64, "h", "w"},
       {},
       DType::f16,
       Precision::fp16},
      {"conv3d",
       {"n", 8, 6, "h", "w"},
       {16, 8, 3, 3, 3},
       {"n", 16, 4, "h - 2", "w - 2"},
       {},
       DType::f32,
       Precision::fp32_strict},
      {"conv_transpose2d",
       {"n", 32, "h", "w"},
       {32, 24, 3, 3},
       {"n", 48, "2 * (h - 1) + 2", "w + 2"},
       {{"stride", each({2, 1})},
        {"padding", each({1, 0})},
        {"output_padding", each({1, 0})},
        {"groups", Attribute(std::int64_t{2})}},
       DType::f32,
       Precision::fp32_strict},
  };
  for (const Row& row : rows) {
    Task task;
    task.name = task.family = "convolution";
    task.axes = {{"n"}, {"h"}, {"w"}};
    const auto add = [&](const char* name, Role role, const std::vector<Expr>& shape) {
      task.tensors.push_back({.name = name, .role = role, .type = row.type, .shape = shape});
    };
    add("x", Role::in, row.x);
    add("v", Role::in, row.weight);
    std::vector<std::string> inputs = {"x", "v"};
    if (row.type == DType::f32) {  // others would be rounded before the bias is added
      add("b", Role::in, {row.y[1]});
      inputs.push_back("b");
    }
    add("y", Role::out, row.y);
    task.operations = {{"conv", row.kind, inputs, {"y"}, row.attributes}};
    task.precision = row.precision;
    task.time_shapes = {{{{"n", 4}, {"h", 30}, {"w", 28}}}};
    REQUIRE(complete(task));
    CAPTURE(row.kind, static_cast<int>(row.type), name_of(row.precision));
    const auto source = library_part(task, builtin_families());
    if (source.is_rejected()) FAIL(source.rejected().message);
    const Pipe pipe{TaskRef(task), &gpu::backend(), nullptr, 1, nullptr};
    const auto candidate = evaluate_source(pipe, *source, ProofLevel::elite);
    if (!candidate) FAIL(candidate.error().message);
    if (const auto* why = std::get_if<Rejected>(&candidate->outcome))
      FAIL_CHECK(why->code << ": " << why->message);
    const std::vector<Subject> contestants{{Subject::Kind::library, library_name(task), nullptr},
                                           {Subject::Kind::plain, "plain", nullptr}};
    const auto reports =
        gpu::backend().measure(TaskRef(task), task.time_shapes[0], contestants, {3, 0.5, true, 1});
    if (!reports) FAIL(reports.error().message);
    WARN(row.kind << " " << line((*reports)[0]) << "; " << line((*reports)[1]));
    CHECK((*reports)[0].name == "cudnn");
    CHECK((*reports)[0].measurement);
  }
}

TEST_CASE("a kernel that skips work when its output looks done is caught") {
  GemmSpec spec;
  spec.m = spec.n = spec.k = 256;
  const Task task = gpu::gemm(spec);
  const CompiledKernel lazy = gpu::simple_sgemm(
      "if (r < m && c < n && !(D[r * n + c] < 1e6f && D[r * n + c] > -1e6f)) D[r * n + c] = s;");
  const CompiledKernel wrong = gpu::simple_sgemm(
      "if (r < m && c < n) D[r * n + c] = m == 256 && r == 17 && c == 200 ? 0.0f : s;");
  const std::vector<Subject> contestants{{Subject::Kind::candidate, "lazy", &lazy},
                                         {Subject::Kind::candidate, "wrong", &wrong}};
  const auto reports = gpu::backend().measure(TaskRef(task), task.time_shapes[0], contestants, {});
  REQUIRE(reports);
  CHECK((*reports)[0].measurement);
  REQUIRE((*reports)[1].measurement.is_rejected());
  CHECK((*reports)[1].measurement.rejected().code == "measure.timed_launch");
}
