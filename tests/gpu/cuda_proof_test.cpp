#include <chrono>

#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

TEST_CASE("an honest kernel passes at every shape and content") {
  const Task task = gpu::gemm({});
  const CompiledKernel kernel = gpu::simple_sgemm();
  for (const auto& workload : {gpu::shape(1, 1, 1), gpu::shape(16, 16, 16), gpu::shape(65, 127, 33),
                               gpu::shape(257, 100, 1000), gpu::shape(1024, 1024, 512)}) {
    for (const ContentKind kind :
         {ContentKind::ordinary, ContentKind::probe, ContentKind::zeros, ContentKind::huge_element,
          ContentKind::alternating, ContentKind::special}) {
      const CaseReport report = gpu::prove(task, kernel, {workload, {7, kind}, 0, false});
      CAPTURE(workload.sizes.at("m"), static_cast<int>(kind), gpu::faults(report));
      REQUIRE(report.outputs.size() == 1);
      const OutputReport& output = report.outputs[0];
      CAPTURE(output.failed, output.worst_ratio, output.worst_index, output.got, output.want,
              output.bound);
      CHECK(gpu::good(report));
      CHECK(output.compared == output.elements);
    }
  }
}

TEST_CASE("drawn elements are compared in large outputs") {
  const Task task = gpu::gemm({});
  const CaseReport report =
      gpu::prove(task, gpu::simple_sgemm(),
                 {gpu::shape(512, 512, 64), {3, ContentKind::ordinary}, 5000, false});
  CHECK(gpu::good(report));
  CHECK(report.outputs[0].compared == 5000);
}

TEST_CASE("wrong kernels fail where they are wrong") {
  const Task task = gpu::gemm({});
  const Case what{gpu::shape(65, 67, 40), {5, ContentKind::ordinary}, 0, false};
  struct Row {
    const char* body;
    std::int64_t failed, never;
  };
  const std::int64_t all = 65 * 67;
  for (const Row& row :
       {Row{"", all, all}, Row{"if (r < m && c < n) D[(long long)r * n + c] = 0;", all, 0},
        Row{"if (r < 64 && c < n) D[(long long)r * n + c] = s;", 67, 67},
        Row{"if (r < m && c < n) D[(long long)r * n + c] = r == 3 && c == 5 ? s + 1.0f : s;", 1, 0},
        Row{"if (r < m && c < n) D[(long long)r * n + c] = r == 3 && c == 5 ? "
            "__int_as_float(0x7fc00000) : s;",
            1, 0}}) {
    const CaseReport report = gpu::prove(task, gpu::simple_sgemm(row.body), what);
    CAPTURE(row.body, gpu::faults(report));
    REQUIRE(report.outputs.size() == 1);
    CHECK(report.outputs[0].failed == row.failed);
    CHECK(report.outputs[0].never_written == row.never);
    if (row.failed == 1) CHECK(report.outputs[0].worst_index == 3 * 67 + 5);
  }
}

TEST_CASE("ten small shapes of a new kernel are proved quickly") {
  const Task task = gpu::gemm({});
  const auto cases = [](int salt) {
    std::vector<Case> all;
    for (int i = 0; i < 10; ++i)
      all.push_back({gpu::shape(60 + i + salt, 70 + 3 * i, 30 + i),
                     {static_cast<std::uint64_t>(i), ContentKind::ordinary},
                     0,
                     false});
    return all;
  };
  REQUIRE(gpu::backend().run(TaskRef(task), gpu::simple_sgemm(), cases(0)));
  const auto begin = std::chrono::steady_clock::now();
  constexpr int repeats = 20;
  const CompiledKernel kernel = gpu::simple_sgemm();
  for (int i = 0; i < repeats; ++i) REQUIRE(gpu::backend().run(TaskRef(task), kernel, cases(i)));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  WARN("ten small shapes: " << seconds / repeats * 1e3 << " ms");
}

TEST_CASE("buffers: scratch, zeroed, restored and their promises") {
  const Task task = gpu::gemm({});
  for (const bool honest : {true, false}) {
    KernelSource source;
    source.text =
        "extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, int n, "
        "int k, float* scratch, unsigned* "
        "zeroed, unsigned* restored) {\n"
        "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
        "  if (r >= m || c >= n) return;\n"
        "  float s = 0;\n"
        "  for (int i = 0; i < k; ++i) s += A[r * k + i] * B[i * n + c];\n"
        "  scratch[r * n + c] = s;\n"
        "  const unsigned before = atomicAdd(zeroed, 1u);\n"
        "  atomicAdd(restored, 1u);\n" +
        std::string(honest ? "  atomicSub(restored, 1u);\n" : "") +
        "  D[r * n + c] = before < (unsigned)(m * n) ? scratch[r * n + c] : 0.0f;\n}\n";
    PlanLaunch launch;
    launch.name = launch.entry = "k";
    launch.grid = {"cdiv(n,16)", "cdiv(m,16)"};
    launch.block = {16, 16};
    for (const char* name : {"A", "B", "D"})
      launch.args.push_back({PlanArgument::Kind::name, name, 0});
    for (const char* size : {"m", "n", "k"})
      launch.args.push_back({PlanArgument::Kind::i32, "", size});
    for (const char* name : {"scratch", "zeroed", "restored"})
      launch.args.push_back({PlanArgument::Kind::name, name, 0});
    source.plan.buffers = {{"scratch", "m*n*4", BufferContent::scratch},
                           {"zeroed", 4, BufferContent::zeroed},
                           {"restored", 4, BufferContent::restored}};
    source.plan.launches.push_back(launch);
    auto kernel = gpu::backend().compile(source);
    REQUIRE(kernel);
    const CaseReport report =
        gpu::prove(task, *kernel, {gpu::shape(40, 50, 8), {1, ContentKind::ordinary}, 0, false});
    CHECK(gpu::faults(report) == (honest ? "" : "run.state"));
    REQUIRE(report.outputs.size() == 1);
    CHECK(report.outputs[0].failed == 0);
  }
}
