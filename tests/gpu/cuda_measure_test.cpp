#include "catch.hpp"
#include "gpu.hpp"

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
