// Launch features beyond a plain grid: setup tables, clusters, cooperative launches, tensor maps.
#include <chrono>

#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

const Case what{gpu::shape(64, 128, 32), {5, ContentKind::ordinary}};

PlanArgument named(const char* name) { return {PlanArgument::Kind::name, name, 0}; }
PlanArgument i32(const char* text) { return {PlanArgument::Kind::i32, "", text}; }

CompiledKernel compiled(const KernelSource& source) {
  auto kernel = gpu::backend().compile(source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().code + ": " + kernel.rejected().message);
  if (kernel.is_error()) FAIL(kernel.error().message);
  return std::move(*kernel);
}

}  // namespace

TEST_CASE("a table written by a setup launch is there in proof and timing") {
  KernelSource source;
  source.text =
      "extern \"C\" __global__ void order(int* table, int tiles) {\n"
      "  const int i = blockIdx.x * 64 + threadIdx.x;\n  if (i < tiles) table[i] = tiles - 1 - "
      "i;\n}\n"
      "extern \"C\" __global__ void k(const float* A, const float* B, float* D, const int* table, "
      "int m, int n, int k, int "
      "across) {\n"
      "  const int tile = table[blockIdx.x];\n"
      "  const int r = tile / across * 16 + threadIdx.y, c = tile % across * 16 + threadIdx.x;\n"
      "  if (r >= m || c >= n) return;\n  float s = 0;\n"
      "  for (int i = 0; i < k; ++i) s += A[r * k + i] * B[i * n + c];\n  D[r * n + c] = s;\n}\n";
  source.plan.let = {{"across", "cdiv(n,16)"}, {"tiles", "across*cdiv(m,16)"}};
  source.plan.buffers = {{"table", "tiles*4", BufferContent::table}};
  PlanLaunch setup;
  setup.name = setup.entry = "order";
  setup.when = When::setup;
  setup.grid = {"cdiv(tiles,64)"};
  setup.block = {64};
  setup.args = {named("table"), i32("tiles")};
  PlanLaunch run;
  run.name = run.entry = "k";
  run.grid = {"tiles"};
  run.block = {16, 16};
  run.args = {named("A"), named("B"), named("D"), named("table"),
              i32("m"),   i32("n"),   i32("k"),   i32("across")};
  source.plan.launches = {setup, run};
  const CompiledKernel kernel = compiled(source);
  GemmSpec spec;
  spec.m = 64, spec.n = 128, spec.k = 32;
  const Task task = gpu::gemm(spec);
  const CaseReport report = gpu::prove(task, kernel, what);
  CAPTURE(gpu::faults(report));
  CHECK(gpu::good(report));
  const Subject contestant{Subject::Kind::candidate, "candidate", &kernel};
  const auto reports =
      gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1}, {});
  REQUIRE(reports);
  CHECK((*reports)[0].measurement);
}

TEST_CASE("setup launches read constant tensors anew in each proof and timed launch") {
  KernelSource source;
  source.text =
      "extern \"C\" __global__ void turn(const float* B, float* kept, int* count, int n, int k) {\n"
      "  const int i = blockIdx.x * 64 + threadIdx.x;\n"
      "  if (i < n * k) kept[i % n * k + i / n] = B[i] + count[0];\n}\n"
      "extern \"C\" __global__ void k(const float* A, const float* kept, float* D, int m, int n, "
      "int k) "
      "{\n"
      "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
      "  if (r >= m || c >= n) return;\n  float s = 0;\n"
      "  for (int i = 0; i < k; ++i) s += A[r * k + i] * kept[c * k + i];\n  D[r * n + c] = "
      "s;\n}\n";
  source.plan.buffers = {{"kept", "n*k*4", BufferContent::table},
                         {"count", 4, BufferContent::restored}};
  PlanLaunch setup;
  setup.name = setup.entry = "turn";
  setup.when = When::setup;
  setup.grid = {"cdiv(n*k,64)"};
  setup.block = {64};
  setup.args = {named("B"), named("kept"), named("count"), i32("n"), i32("k")};
  PlanLaunch run;
  run.name = run.entry = "k";
  run.grid = {"cdiv(n,16)", "cdiv(m,16)"};
  run.block = {16, 16};
  run.args = {named("A"), named("kept"), named("D"), i32("m"), i32("n"), i32("k")};
  source.plan.launches = {setup, run};
  const CompiledKernel kernel = compiled(source);
  GemmSpec spec;
  spec.m = 64, spec.n = 128, spec.k = 32;
  Task task = gpu::gemm(spec);
  for (Tensor& tensor : task.tensors) {
    if (tensor.name == "B") tensor.role = Role::constant;
  }
  for (const std::uint64_t seed : {5, 6}) {
    Case other = what;
    other.content.seed = seed;
    other.repeats = 2;
    const CaseReport report = gpu::prove(task, kernel, other);
    CAPTURE(seed, gpu::faults(report));
    CHECK(gpu::good(report));
  }
  // The outputs of timed launches, each of new content, are compared too.
  const Subject contestant{Subject::Kind::candidate, "candidate", &kernel};
  const auto reports =
      gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1}, {});
  REQUIRE(reports);
  if ((*reports)[0].measurement.is_rejected()) FAIL((*reports)[0].measurement.rejected().message);
  CHECK((*reports)[0].measurement->conditions.back().starts_with("not timed: setup launches"));
}

TEST_CASE("clusters and cooperative launches run") {
  const Task task = gpu::gemm({});
  for (const bool cooperative : {false, true}) {
    KernelSource source;
    source.text =
        "extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, int n, "
        "int k, int want) {\n"
        "  unsigned size;\n  asm volatile(\"mov.u32 %0, %%cluster_nctaid.x;\" : \"=r\"(size));\n"
        "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
        "  if (r >= m || c >= n) return;\n  float s = 0;\n"
        "  for (int i = 0; i < k; ++i) s += A[r * k + i] * B[i * n + c];\n  D[r * n + c] = size == "
        "want ? s : 0.0f;\n}\n";
    PlanLaunch run;
    run.name = run.entry = "k";
    run.grid = {"cdiv(n,16)", "cdiv(m,16)"};
    run.block = {16, 16};
    run.cooperative = cooperative;
    if (!cooperative) run.cluster = {4};
    run.args = {named("A"),
                named("B"),
                named("D"),
                i32("m"),
                i32("n"),
                i32("k"),
                i32(cooperative ? "1" : "4")};
    source.plan.launches = {run};
    const CaseReport report = gpu::prove(task, compiled(source), what);
    CAPTURE(cooperative, gpu::faults(report));
    CHECK(gpu::good(report));
  }
}

TEST_CASE("a tensor map carries a tile into shared memory") {
  KernelSource source;
  source.text =
      "struct alignas(64) Map { unsigned long long words[16]; };\n"
      "extern \"C\" __global__ void k(const __grid_constant__ Map a, const float* B, float* D, int "
      "m, int n, int k) {\n"
      "  __shared__ alignas(128) float tile[16 * 32];\n  __shared__ alignas(8) unsigned long long "
      "bar;\n"
      "  const unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = "
      "(unsigned)__cvta_generic_to_shared(tile);\n"
      "  if (threadIdx.x == 0 && threadIdx.y == 0) {\n"
      "    asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(b));\n"
      "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
      "    asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 2048;\" :: \"r\"(b));\n"
      "    asm "
      "volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], "
      "[%4];\"\n"
      "      :: \"r\"(t), \"l\"(&a), \"r\"(0), \"r\"((int)blockIdx.y * 16), \"r\"(b) : "
      "\"memory\");\n  }\n  __syncthreads();\n"
      "  unsigned done = 0;\n  while (!done)\n"
      "    asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 "
      "%0, 1, 0, p; }\" : "
      "\"=r\"(done) : \"r\"(b) : \"memory\");\n"
      "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
      "  if (r >= m || c >= n) return;\n  float s = 0;\n"
      "  for (int i = 0; i < 32; ++i) s += tile[threadIdx.y * 32 + i] * B[i * n + c];\n  D[r * n + "
      "c] = s;\n}\n";
  source.plan.require = {"k==32"};
  PlanTensorMap map;
  map.name = "a";
  map.of = "A";
  map.type = DType::f32;
  map.dims = {"k", "m"};
  map.pitch = {"k*4"};
  map.box = {32, 16};
  map.swizzle = 0;
  source.plan.maps = {map};
  PlanLaunch run;
  run.name = run.entry = "k";
  run.grid = {"cdiv(n,16)", "cdiv(m,16)"};
  run.block = {16, 16};
  run.args = {named("a"), named("B"), named("D"), i32("m"), i32("n"), i32("k")};
  source.plan.launches = {run};
  const CompiledKernel kernel = compiled(source);
  const CaseReport report = gpu::prove(gpu::gemm({}), kernel, what);
  CAPTURE(gpu::faults(report));
  CHECK(gpu::good(report));
  Case other = what;
  other.workload = gpu::shape(64, 64, 33);
  CHECK(gpu::prove(gpu::gemm({}), kernel, other).not_for_this_shape);
}

TEST_CASE("equal runs give equal hashes, other content others") {
  const Task task = gpu::gemm({});
  const CompiledKernel kernel = gpu::simple_sgemm();
  Case hashed = what;
  hashed.hash = true;
  const std::string first = gpu::prove(task, kernel, hashed).outputs[0].bits_hash;
  CHECK(first.size() == 64);
  CHECK(gpu::prove(task, kernel, hashed).outputs[0].bits_hash == first);
  hashed.content.seed += 1;
  CHECK(gpu::prove(task, kernel, hashed).outputs[0].bits_hash != first);
}

TEST_CASE(
    "two hundred repeats of an honest kernel agree bit for bit, of a racing one they do not") {
  const Task task = gpu::gemm({});
  Case repeated = what;
  repeated.repeats = 200;
  const auto begin = std::chrono::steady_clock::now();
  const CaseReport honest = gpu::prove(task, gpu::simple_sgemm(), repeated);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  gpu::note({{"test", "200 repeats"}, {"seconds", std::to_string(seconds)}});
  REQUIRE(gpu::good(honest));
  CHECK(honest.repeats_done == 200);
  CHECK(honest.outputs[0].repeat_differs == 0);
  CHECK(honest.recomputed == 64);
  // One that lets the clock into its result.
  const CaseReport racing =
      gpu::prove(task,
                 gpu::ungated(gpu::sgemm_text("if (r < m && c < n) D[(long long)r * n + c] = s * "
                                              "(1.0f + (clock64() & 64) * 1e-9f);"),
                              {}),
                 repeated);
  CHECK(racing.outputs[0].repeat_differs > 0);
}

TEST_CASE("padding, alignment, overlap and the other poison") {
  const Task task = gpu::gemm({});
  Case varied = what;
  for (const Variation variation : {Variation::none, Variation::overlap}) {
    for (const Poison poison : {Poison::quiet_nan, Poison::large}) {
      varied.content.variation = variation;
      varied.poison = poison;
      varied.least_aligned = poison == Poison::large;
      CHECK(gpu::good(gpu::prove(task, gpu::simple_sgemm(), varied)));
      CHECK(gpu::prove(task, gpu::simple_sgemm(""), varied).outputs[0].never_written == 64 * 128);
    }
  }
}
