// A host with a context, a stream and memory of its own, and cupilot as a guest in them.
#include <cstring>

#include <cupilot/evolve.hpp>
#include <cupilot/in_process.hpp>

#include "backend/worker/driver.hpp"
#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

struct GuestHost {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  static constexpr std::size_t bytes = 1 << 20;
  std::unique_ptr<Backend> guest;

  GuestHost() {
    const CudaDriver& calls = driver();
    if (!calls.reason.empty()) FAIL(calls.reason);
    check(calls.cuInit(0), "cuInit");
    check(calls.cuDevicePrimaryCtxRetain(&context, 0), "context");
    check(calls.cuCtxSetCurrent(context), "current");
    check(calls.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    check(calls.cuMemAlloc(&memory, bytes), "memory");
    check(calls.cuMemsetD8Async(memory, 0x5a, bytes, stream), "content");
    auto opened = open_in_process(context, stream);
    if (!opened) FAIL(opened.error().message);
    guest = std::move(*opened);
  }
  bool memory_intact() const {
    std::vector<char> now(bytes), want(bytes, 0x5a);
    check(driver().cuMemcpyDtoH(now.data(), memory, bytes), "reading the host's memory");
    return std::memcmp(now.data(), want.data(), bytes) == 0;
  }
};

GuestHost& host() {
  static GuestHost instance;
  return instance;
}

CaseReport prove(const CompiledKernel& kernel, const Case& what) {
  auto report = host().guest->run(TaskRef(gpu::gemm({})), kernel, {&what, 1});
  if (!report) FAIL(report.error().message);
  CHECK(report->confinement.rfind("unconfined", 0) == 0);
  REQUIRE(report->cases.size() == 1);
  return report->cases[0];
}

}  // namespace

TEST_CASE("a guest proves an honest kernel at every content", "[in_process]") {
  const CompiledKernel kernel = gpu::simple_sgemm();
  for (const ContentKind kind :
       {ContentKind::ordinary, ContentKind::probe, ContentKind::special, ContentKind::integers}) {
    Case what{gpu::shape(65, 127, 33), {7, kind}, 0, false};
    what.repeats = 2;
    const CaseReport report = prove(kernel, what);
    CAPTURE(static_cast<int>(kind), gpu::faults(report));
    CHECK(gpu::good(report));
    CHECK(report.repeats_done == 2);
    CHECK(report.recomputed > 0);
  }
  CHECK(host().memory_intact());
}

TEST_CASE("a guest refuses what is wrong: values, guard zones, changed inputs", "[in_process]") {
  struct Row {
    const char* body;
    std::int64_t failed;
    const char* faults;
  };
  const std::string honest = "if (r < m && c < n) D[(long long)r * n + c] = s;";
  for (const Row& row :
       {Row{"", 65 * 67, ""}, Row{"if (r == 3 && c == 5) D[r * n + c] = s + 1.0f;", 1, ""},
        Row{"if (r == 0 && c == 0) D[-4] = 1.0f;", 0, "run.guard"},
        Row{"if (r == 0 && c == 0) D[m * n + 3] = 1.0f;", 0, "run.guard"},
        Row{"if (r == 0 && c == 0) ((float*)A)[7] += 1.0f;", 0, "run.input_write"}}) {
    const bool writes = row.body[0] != '\0';
    const std::string text =
        gpu::sgemm_text((writes ? honest + " __syncthreads(); " : "") + row.body);
    const CaseReport report = prove(gpu::ungated(text, {}),
                                    {gpu::shape(65, 67, 40), {5, ContentKind::ordinary}, 0, false});
    CAPTURE(row.body);
    CHECK(gpu::faults(report) == row.faults);
    REQUIRE(report.outputs.size() == 1);
    if (row.faults[0] == '\0') CHECK(report.outputs[0].failed == row.failed);
  }
  CHECK(host().memory_intact());
}

TEST_CASE("a guest times as the device's own processes do", "[in_process]") {
  GemmSpec spec;
  spec.m = spec.n = spec.k = 1024;
  const Task task = gpu::gemm(spec);
  const CompiledKernel kernel = gpu::simple_sgemm();
  const std::vector<Subject> contestants{{Subject::Kind::candidate, "candidate", &kernel},
                                         {Subject::Kind::plain, "plain", nullptr},
                                         {Subject::Kind::library, "cublaslt", nullptr}};
  for (Backend* device : {&gpu::backend(), host().guest.get()}) {
    CHECK(device->provenance() == Provenance::measured);
    const auto reports = device->measure(TaskRef(task), task.time_shapes[0], contestants, {});
    if (!reports) FAIL(reports.error().message);
    for (const SubjectReport& report : *reports) {
      if (report.measurement.is_rejected()) {
        WARN(device->identity() << ": " << report.name << ": "
                                << report.measurement.rejected().message);
        CHECK(report.name == "cublaslt");  // the loader may not find it
        continue;
      }
      REQUIRE(report.measurement);
      WARN(device->identity() << ": " << report.name << " " << report.measurement->time_us
                              << " us, spread " << report.measurement->spread_us);
      gpu::note({{"device", device->identity()},
                 {"contestant", report.name},
                 {"time_us", std::to_string(report.measurement->time_us)},
                 {"spread_us", std::to_string(report.measurement->spread_us)}});
      CHECK(report.proofs.size() >= report.measurement->samples_us.size());
    }
  }
  CHECK(host().memory_intact());
}

TEST_CASE("a search runs in the host's context", "[in_process]") {
  GemmSpec spec;
  spec.m = spec.n = spec.k = 512;
  spec.dtype = DType::bf16;
  EvolveOptions options;
  options.search.max_evaluations = 24;
  const auto report = evolve(gpu::gemm(spec), *host().guest, options);
  if (!report) FAIL(report.error().message);
  REQUIRE(report->best);
  const auto* best = std::get_if<Accepted>(&report->best->candidate.outcome);
  REQUIRE(best != nullptr);
  CHECK(best->conditions.ran_under.rfind("unconfined", 0) == 0);
  CHECK(best->measurement.provenance == Provenance::measured);
  WARN("best of 24: " << best->measurement.time_us << " us");
  gpu::note({{"device", host().guest->identity()},
             {"contestant", "best of 24, bf16 512 cubed"},
             {"time_us", std::to_string(best->measurement.time_us)}});
  CHECK(host().memory_intact());
  CUcontext current = nullptr;
  check(driver().cuCtxPopCurrent(&current), "pop");
  CHECK(current == host().context);
  check(driver().cuCtxPushCurrent(current), "push");
}

// Ends this process's context: run it alone.
TEST_CASE("a fault in the host's context is told once, then everything is an error",
          "[.][in_process_fault]") {
  const CompiledKernel kernel =
      gpu::ungated(gpu::sgemm_text("if (r == 0 && c == 0) D[1ll << 40] = s; else if (r < m && c < "
                                   "n) D[(long long)r * n + c] = s;"),
                   {});
  const Case what{gpu::shape(32, 32, 32), {1, ContentKind::ordinary}, 0, false};
  CHECK(gpu::faults(prove(kernel, what)) == "run.out_of_bounds");
  const auto again = host().guest->run(TaskRef(gpu::gemm({})), gpu::simple_sgemm(), {&what, 1});
  REQUIRE(!again);
  CHECK(again.error().code == ErrorCode::no_device);
  WARN(again.error().message);
}
