// What one launch may leave for the next: shared memory, L2, and a cold cache that a kernel can
// feel.
#include "catch.hpp"
#include "gpu.hpp"

using namespace cupilot;

namespace {

GemmSpec square(std::int64_t size) {
  GemmSpec spec;
  spec.m = spec.n = spec.k = size;
  return spec;
}

std::string outcome(const SubjectReport& report) {
  if (report.measurement.is_rejected()) return report.measurement.rejected().code;
  return report.measurement ? "measured" : report.measurement.error().message;
}

// A matrix-vector product by one warp a row; `load` reads a float4 of the matrix at `p`.
CompiledKernel gemv(const std::string& load) {
  return gpu::ungated(
      "extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, int n, int "
      "k) {\n"
      "  const int row = (int)((blockIdx.x + blockIdx.y * gridDim.x) * 8 + (threadIdx.x + "
      "threadIdx.y * 16) / 32);\n"
      "  const int lane = (threadIdx.x + threadIdx.y * 16) % 32;\n  if (row >= n) return;\n"
      "  const float4* p = (const float4*)(B + (long long)row * k) + lane;\n  float s = 0;\n"
      "  for (int i = lane; i < k / 4; i += 32, p += 32) {\n    float4 b;\n    " +
          load +
          "\n    const float4 a = ((const float4*)A)[i];\n    s += a.x * b.x + a.y * b.y + a.z * "
          "b.z + a.w * b.w;\n  }\n"
          "  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);\n  if (lane == 0) "
          "D[row] = s;\n}\n",
      {"cdiv(n,8)"});
}

constexpr const char* plain_load = "b = *p;";
// The same instructions without the wish to stay.
constexpr const char* asm_load =
    "asm volatile(\"ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\" : \"=f\"(b.x), \"=f\"(b.y), "
    "\"=f\"(b.z), \"=f\"(b.w) : "
    "\"l\"(p));";
constexpr const char* normal_prefetch =
    "asm volatile(\"prefetch.global.L2::evict_normal [%0];\" :: \"l\"(p)); b = *p;";
constexpr const char* kept_load =
    "unsigned long long keep; asm volatile(\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" "
    ": \"=l\"(keep));\n"
    "asm volatile(\"ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;\" : \"=f\"(b.x), "
    "\"=f\"(b.y), \"=f\"(b.z), "
    "\"=f\"(b.w) : \"l\"(p), \"l\"(keep));";
constexpr const char* prefetched_load =
    "asm volatile(\"prefetch.global.L2::evict_last [%0];\" :: \"l\"(p)); b = *p;";

}  // namespace

TEST_CASE("shared memory holds nothing of the launch before") {
  const char* const reader =
      "if (r < m && c < n) D[(long long)r * n + c] = seen ? 0.0f : s;\n  __syncthreads();\n"
      "  if (threadIdx.x == 0 && threadIdx.y == 0) for (int i = 0; i < 1024; ++i) left[i] = "
      "1234.5f;";
  const CompiledKernel kernel = gpu::ungated(
      std::string("extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, "
                  "int n, int k) {\n"
                  "  __shared__ volatile float left[1024];\n  bool seen = left[7] == 1234.5f;\n"
                  "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + "
                  "threadIdx.x;\n  float s = 0;\n"
                  "  seen = __syncthreads_or(seen);\n"
                  "  if (r < m && c < n)\n    for (int i = 0; i < k; ++i) s += A[(long long)r * k "
                  "+ i] * B[(long long)i * n + c];\n"
                  "  if (gridDim.x * gridDim.y > 132u * 4u) seen = false;\n  ") +
          reader + "\n}\n",
      {});
  const Task task = gpu::gemm(square(256));
  for (int launch = 0; launch < 3; ++launch) {
    const Case what{gpu::shape(256, 256, 32), {5, ContentKind::ordinary}};
    CHECK(gpu::good(gpu::prove(task, kernel, what)));
  }
  const Subject contestant{Subject::Kind::candidate, "reader", &kernel};
  const auto reports =
      gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1}, {});
  REQUIRE(reports);
  // Launches back to back, for the controller's clock, are not scrubbed between: there it reads
  // what it left.
  CHECK(outcome((*reports)[0]) == "measure.timed_launch");
}

// Notes what docs/results keeps; a time is no verdict.
TEST_CASE("lines asked to stay in L2 are timed beside the same loads without the wish") {
  const CompiledKernel plain = gemv(asm_load), kept = gemv(kept_load),
                       ahead = gemv(normal_prefetch), prefetched = gemv(prefetched_load),
                       simple = gemv(plain_load);
  for (const std::int64_t rows : {2048, 4096, 8192}) {
    GemmSpec spec;
    spec.m = 1, spec.n = rows, spec.k = 1024, spec.layout = "nt";
    const Task task = gpu::gemm(spec);
    const std::vector<Subject> contestants{
        {Subject::Kind::candidate, "plain", &plain},
        {Subject::Kind::candidate, "again", &plain},
        {Subject::Kind::candidate, "kept", &kept},
        {Subject::Kind::candidate, "prefetched", &ahead},
        {Subject::Kind::candidate, "kept prefetched", &prefetched},
        {Subject::Kind::candidate, "compiled", &simple}};
    for (const bool cold : {true, false}) {
      const auto reports =
          gpu::backend().measure(TaskRef(task), task.time_shapes[0], contestants, {31, 6, cold, 1});
      if (!reports) FAIL(reports.error().message);
      for (const SubjectReport& report : *reports) {
        CAPTURE(rows, cold, report.name, outcome(report));
        REQUIRE(report.measurement);
        // Against the same instructions without the wish.
        const std::size_t control = report.name == "kept prefetched" ? 3 : 0;
        const double ratio = report.measurement->time_us / (*reports)[control].measurement->time_us;
        gpu::note({{"test", "evict_last"},
                   {"bytes", std::to_string(rows * 4096)},
                   {"cold", cold ? "true" : "false"},
                   {"name", report.name},
                   {"us", std::to_string(report.measurement->time_us)},
                   {"ratio", std::to_string(ratio)},
                   {"host_us", std::to_string(report.measurement->host_us)}});
      }
    }
  }
}

TEST_CASE("a kernel that feels the cold cache and skips its work is caught") {
  const CompiledKernel feeler = gpu::ungated(
      "extern \"C\" __global__ void k(const float* A, const float* B, float* D, int m, int n, int "
      "k) {\n"
      "  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
      "  const long long begin = clock64();\n  float s = *(volatile const float*)(A + (long "
      "long)(r < m ? r : 0) * k);\n"
      "  const bool cold = s != 1e30f && clock64() - begin > 1200;\n  s = 0;\n"
      "  if (r >= m || c >= n) return;\n"
      "  for (int i = 0; i < (__syncthreads_or(cold) ? 1 : k); ++i) s += A[(long long)r * k + i] * "
      "B[(long long)i * n + c];\n"
      "  D[(long long)r * n + c] = s;\n}\n",
      {});
  const Task task = gpu::gemm(square(256));
  const Subject contestant{Subject::Kind::candidate, "feeler", &feeler};
  const auto reports =
      gpu::backend().measure(TaskRef(task), task.time_shapes[0], {&contestant, 1}, {});
  REQUIRE(reports);
  CHECK(outcome((*reports)[0]) == "measure.timed_launch");
  gpu::note({{"test", "feels the cold cache"}, {"outcome", outcome((*reports)[0])}});
}
