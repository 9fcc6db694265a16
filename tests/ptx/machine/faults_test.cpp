// Seeded faults: each must be found, named by its code, and placed.
#include <algorithm>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "support/reached.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string broken = R"(
#define assert(C) ((C) ? (void)0 : __assertfail(#C, "own.cu", 7, __func__, 1))
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define K extern "C" __global__ void
K missing_barrier(const float* a, float* o, int n) {
  __shared__ float s[128]; int t = threadIdx.x;
  s[t] = a[t]; o[t] = s[127 - t]; }
K missing_second_barrier(const float* a, float* o, int n) {
  __shared__ float s[128]; int t = threadIdx.x; float r = 0;
  for (int i = 0; i < 2; ++i) { s[t] = a[t] + i; __syncthreads(); r += s[127 - t]; }
  o[t] = r; }
K missing_syncwarp(const float* a, float* o, int n) {
  __shared__ volatile float dummy[1]; __shared__ float s[32]; int t = threadIdx.x; if (t < 32) { s[t] = a[t]; o[t] = s[31 - t]; } }
K off_by_one(const float* a, float* o, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i <= n) o[i] = a[i < n ? i : 0]; }
K read_past(const float* a, float* o, int n) { int i = threadIdx.x; o[i] = a[i + 1]; }
K endless(const float* a, float* o, int n) { volatile int x = n; while (x > 0) { } o[0] = 1; }
K divergent_barrier(const float* a, float* o, int n) { int t = threadIdx.x; if (t % 32 < 16) __syncthreads(); o[t] = a[t]; }
K two_barriers(const float* a, float* o, int n) { int t = threadIdx.x; if (t < 64) { o[t] = 1; __syncthreads(); o[t] = 2; } else { o[t] = 3; __syncthreads(); o[t] = 4; __syncthreads(); } }
K named_barrier_starves(const float* a, float* o, int n) { int t = threadIdx.x; if (t < 64) asm volatile("bar.sync 1, 128;"); o[t] = 1; }
K writes_input(const float* a, float* o, int n) { int t = threadIdx.x; o[t] = a[t]; ((float*)a)[t] = 0; }
K uninitialised_shared(const float* a, float* o, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = a[t]; __syncthreads(); o[t] = s[t + 1]; }
K uninitialised_output(const float* a, float* o, int n) { int t = threadIdx.x; o[t] += a[t]; }
K misaligned(const float* a, float* o, int n) { int t = threadIdx.x; float4 v = *(const float4*)(a + t); o[t] = v.x + v.w; }
K misaligned_shared(const float* a, float* o, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = a[t]; s[t + 128] = 1; __syncthreads(); float2 v = *(float2*)(s + t + n % 2); o[t] = v.x + v.y; }
K shared_past(const float* a, float* o, int n) { extern __shared__ float s[]; int t = threadIdx.x; s[t + 1] = a[t]; __syncthreads(); o[t] = s[t + 1]; }
K shuffle_half(const float* a, float* o, int n) { int t = threadIdx.x; float v = a[t]; if (t % 32 < 16) v = __shfl_xor_sync(0xffffffffu, v, 1); o[t] = v; }
K traps(const float* a, float* o, int n) { if (threadIdx.x == 77) __trap(); o[threadIdx.x] = 1; }
K asserts(const float* a, float* o, int n) { int t = threadIdx.x; assert(t < 77 && "few threads"); o[t] = a[t]; }
K null_pointer(const float* a, float* o, int n) { float* p = (float*)(size_t)(n - 128); p[threadIdx.x] = 1; }
K write_clash(const float* a, float* o, int n) { __shared__ float s; int t = threadIdx.x; s = a[t]; __syncthreads(); o[t] = s; }
K copy_unwaited(const float* a, float* o, int n) {
  __shared__ float s[128]; int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(s + t)), "l"(a + t));
  asm volatile("cp.async.commit_group;"); o[t] = s[t]; }
K atomic_mix(const float* a, float* o, int n) { __shared__ float s; int t = threadIdx.x; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, a[t]); o[t] = s; }
K local_past(const float* a, float* o, int n) { float v[8]; int t = threadIdx.x; for (int i = 0; i < 8; ++i) v[i] = a[i + t % 2]; o[t] = v[n + t]; }
K recursion_bottomless(const float* a, float* o, int n);
__device__ __noinline__ float deep(float x, int n) { return n == -1 ? x : deep(x + 1, n + 1) * 2; }
K recursion_bottomless(const float* a, float* o, int n) { o[threadIdx.x] = deep(a[0], n); }
K volatile_tree(const float* a, float* o, int n) {
  __shared__ float s[64]; int t = threadIdx.x; if (t < 64) s[t] = a[t];
  __syncthreads();
  if (t < 32) { volatile float* w = s; for (int h = 32; h > 0; h /= 2) w[t] += w[t + h]; }
  __syncthreads(); o[t] = s[0]; }
K shuffle_for_barrier(const float* a, float* o, int n) {
  __shared__ float s[128]; int t = threadIdx.x;
  s[t] = a[t]; float v = __shfl_xor_sync(0xffffffffu, a[t], 1); o[t] = s[t ^ 1] - v; }
K shared_variable_past(const float* a, float* o, int n) { __shared__ float s[129]; int t = threadIdx.x; s[t + 2] = a[t]; __syncthreads(); o[t] = s[t + 2]; }
K shared_read_into_next(const float* a, float* o, int n) {
  __shared__ float left[128], middle[128], right[128]; int t = threadIdx.x; left[t] = a[t]; middle[t] = 2 * a[t]; right[t] = 3 * a[t];
  __syncthreads(); o[t] = left[127 - t] + middle[t + 1] + right[127 - t]; }
K shared_write_into_next(const float* a, float* o, int n) {
  __shared__ float left[128], middle[128], right[128]; int t = threadIdx.x; middle[t + 1] = a[t];
  __syncthreads(); left[t] = a[t]; right[t] = a[t]; __syncthreads(); o[t] = left[127 - t] + middle[127 - t] + right[127 - t]; }
K shared_past_into_dynamic(const float* a, float* o, int n) {
  __shared__ float s[128]; extern __shared__ float rest[]; int t = threadIdx.x; s[t] = a[t]; rest[t] = a[t]; __syncthreads(); o[t] = s[t + 1] + rest[127 - t]; }
K shuffle_absent_half_tile(const float* a, float* o, int n) { int t = threadIdx.x; float v = a[t]; if (t % 16 < 8) v = __shfl_xor_sync(0xffffu << t % 32 / 16 * 16, v, 1); o[t] = v; }
K shuffle_without_itself(const float* a, float* o, int n) { int t = threadIdx.x; o[t] = __shfl_xor_sync(0xffffu << (t % 32 < 16) * 16, a[t], 1); }
K vote_masks_overlap(const float* a, float* o, int n) { int t = threadIdx.x; o[t] = __any_sync(t % 32 < 16 ? ~0u : 0xffff0000u, a[t] > 1); }
K sync_absent_half_tile(const float* a, float* o, int n) { int t = threadIdx.x; if (t % 16 < 8) __syncwarp(0xffffu << t % 32 / 16 * 16); o[t] = a[t]; }
K unlike_barriers(const float* a, float* o, int n) { int t = threadIdx.x; if (t < 64) asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 0; bar.red.or.pred p, 1, 128, p; }" ::"r"(n)); else asm volatile("bar.sync 1, 128;"); o[t] = 2; }
K one_reads_4_gib_past(const float* a, float* o, int n) { int t = threadIdx.x; o[t] = a[t + (t == 37 ? 1ll << 30 : 0)]; }
)";

struct Seeded {
  const char* entry;
  const char* code;
  const char* says;  // in the message
};
const Seeded seeded[] = {
    {"missing_barrier", "run.race", "without a barrier"},
    {"missing_second_barrier", "run.race", "without a barrier"},
    {"volatile_tree", "run.race", "without a barrier"},
    {"missing_syncwarp", "run.race", "without a barrier"},
    {"off_by_one", "run.out_of_bounds", "0 bytes past the end of o (512 bytes)"},
    {"read_past", "run.out_of_bounds", "0 bytes past the end of a (512 bytes)"},
    {"one_reads_4_gib_past", "run.out_of_bounds", "reads 4 bytes"},
    {"endless", "run.budget", "budget"},
    {"divergent_barrier", "run.divergence", "barrier"},
    {"two_barriers", "run.divergence", "different places"},
    {"unlike_barriers", "run.divergence", "reduce otherwise"},
    {"named_barrier_starves", "run.divergence", "128 threads"},
    {"writes_input", "run.input_write", "of a, which is read-only"},
    {"uninitialised_shared", "run.uninitialised", "nobody wrote"},
    {"uninitialised_output", "run.uninitialised", "reads o at offset 0"},
    {"misaligned", "run.misaligned", "aligned to 16"},
    {"misaligned_shared", "run.misaligned", "aligned to 8"},
    {"shared_past", "run.out_of_bounds", "512 bytes of shared memory"},
    {"shuffle_half", "run.divergence", ".sync"},
    {"shuffle_absent_half_tile", "run.divergence", ".sync"},
    {"shuffle_without_itself", "run.divergence", ".sync"},
    {"vote_masks_overlap", "run.divergence", ".sync"},
    {"sync_absent_half_tile", "run.divergence", ".sync"},
    {"traps", "run.trap", "trap"},
    {"asserts", "run.assert", "assertion `t < 77 && \"few threads\"` failed at own.cu:7"},
    {"null_pointer", "run.out_of_bounds", "null pointer"},
    {"write_clash", "run.race", "one address at once"},
    {"copy_unwaited", "run.race", "asynchronous copy"},
    {"atomic_mix", "run.race", "without a barrier"},
    {"shuffle_for_barrier", "run.race", "without a barrier"},
    {"shared_variable_past", "run.out_of_bounds", "516 bytes of shared memory"},
    {"shared_read_into_next", "run.out_of_bounds",
     "middle+512 (shared offset 1024), where no shared variable lies"},
    {"shared_write_into_next", "run.out_of_bounds",
     "middle+512 (shared offset 1024), where no shared variable lies"},
    {"shared_past_into_dynamic", "run.out_of_bounds",
     "s+512 (shared offset 512), where no shared variable lies"},
    {"local_past", "run.out_of_bounds", "local offset"},
    {"recursion_bottomless", "run.", ""},
};

}  // namespace

TEST_CASE("every seeded fault is found", "[faults]") {
  for (const Seeded& row : seeded) {
    INFO(row.entry);
    Device d;
    std::vector<float> a(128);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
    const auto ia = d.input("a", a), io = d.output("o", 512);
    d.options.instruction_budget = 200000;
    const auto report = d.run(
        module_of_cuda(broken), row.entry, {std::string(row.entry) == "off_by_one" ? 2u : 1u},
        {128}, std::string(row.entry).rfind("shared_past", 0) == 0 ? 512 : 0, P{ia}, P{io}, 128);
    CHECK(report.faults.size() > 0);
    if (report.faults.empty()) continue;
    const ptx::Fault& f = report.faults[0];
    INFO(faults_of(report));
    CHECK(f.code.rfind(row.code, 0) == 0);
    CHECK(f.message.find(row.says) != std::string::npos);
    CHECK(f.ptx_line > 0);
    CHECK(f.source_line > 0);
    CHECK(f.where.find("block (") == 0);
    const cupilot::Rejected r = ptx::rejection_of(report);
    CHECK(r.stage == cupilot::Stage::run);
    cupilot::testing::expect_code(r, f.code);
  }
}

TEST_CASE("an assertion that holds and a print change nothing", "[faults]") {
  const auto module = module_of_cuda(R"(
extern "C" __device__ int printf(const char*, ...);
#define assert(C) ((C) ? (void)0 : __assertfail(#C, "own.cu", 7, __func__, 1))
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(const float* a, float* o) {
  const int t = threadIdx.x;
  assert(a[t] >= 0);
  int said = 5;
  if (t % 2) said = printf("odd %d %f\n", t, a[t]);
  o[t] = a[t] + said;
})");
  Device d;
  const auto ia = d.input("a", std::vector<float>(32, 1.0f)), io = d.output("o", 128);
  CHECK(faults_of(d.run(module, "k", {1}, {32}, 0, P{ia}, P{io})).empty());
  CHECK(d.values<float>(io)[0] == 6.0f);
  CHECK(d.values<float>(io)[1] == 1.0f);
}

TEST_CASE("a register that nobody wrote holds no number", "[faults]") {
  const auto module = module_of_cuda(R"(
extern "C" __global__ void unwritten(unsigned* o) {
  unsigned value;
  asm volatile("{ .reg .b32 never; mov.b32 %0, never; }" : "=r"(value));
  o[threadIdx.x] = value;
})");
  Device d;
  const auto io = d.output("o", 128);
  CHECK(d.run(module, "unwritten", {1}, {32}, 0, P{io}).faults.empty());
  CHECK(d.values<std::uint32_t>(io) == std::vector<std::uint32_t>(32, 0xffffffffu));
}

TEST_CASE("blocks that nothing orders may not read each other's results", "[faults]") {
  struct Row {
    const char* body;
    const char* code;  // "": fine
  };
  for (const Row& row :
       {Row{"o[b] = a[b]; if (b == 1) o[b] += o[0];", "run.race"},
        Row{"__shared__ int s; s = 0; __syncthreads(); atomicAdd(&s, 1); o[b] = a[b]; if (b == 1) "
            "o[b] += o[0];",
            "run.race"},
        Row{"o[b] = a[b]; __threadfence(); if (b == 1) o[b] += o[0];", "run.race"},
        Row{"o[b] = a[b]; if (b == 1) o[b] += *(volatile float*)o;", ""},
        Row{"o[b] = 0; atomicAdd(o + b, a[b]); if (b == 1) o[b] += o[0];", "run.race"},
        Row{"o[b] = a[b]; if (atomicAdd((int*)o + 2, 1) == 1) o[b] += o[0];", "run.race"},
        Row{"o[b] = a[b]; __threadfence(); if (atomicAdd((int*)o + 2, 1) == 1) o[b] += o[0];", ""},
        Row{"o[b] = a[b]; if (b == 1) o[b] += o[1];", ""},
        Row{"volatile float* p = o + 2; *p = *p + a[b];", "run.race"},
        Row{"volatile short* p = (short*)(o + 2); p[1] = p[1] + 1;", "run.race"},
        Row{"volatile float* p = o + 2; __threadfence(); *p = *p + a[b];", ""},
        Row{"volatile float* p = o + 2; *p = a[b];", ""},
        Row{"volatile float* p = o + b; *p = *p + a[b]; *p = *p + 1;", ""},
        Row{"atomicAdd_block(o + 2, a[b]);", "run.race"},
        Row{"atomicAdd_block(o + b, a[b]); atomicAdd(o + 2, a[b]);", ""},
        Row{"__threadfence(); atomicAdd_block(o + 2, a[b]);", "run.race"},
        Row{"o[b] = a[b]; float v; asm volatile(\"ld.relaxed.cta.global.f32 %0, [%1];\" : "
            "\"=f\"(v) : \"l\"(o)); o[b] += v;",
            "run.race"},
        Row{"o[b] = a[b]; float v; asm volatile(\"ld.relaxed.gpu.global.f32 %0, [%1];\" : "
            "\"=f\"(v) : \"l\"(o)); o[b] += v;",
            ""},
        Row{"o[b] = a[b]; float v; asm volatile(\"ld.global.nc.f32 %0, [%1];\" : \"=f\"(v) : "
            "\"l\"(o + b)); o[b] = v;",
            "run.race"},
        Row{"float v; asm volatile(\"ld.global.nc.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(a + b)); "
            "o[b] = v;",
            ""}}) {
    Device d;
    const auto ia = d.input("a", std::vector<float>(2, 1.0f)), io = d.output("o", 12);
    d.memory.mark_written(io);
    const std::string text =
        "extern \"C\" __global__ void k(const float* a, float* o) { const int b = blockIdx.x; " +
        std::string(row.body) + " }";
    const auto report = d.run(module_of_cuda(text), "k", {2}, {1}, 0, P{ia}, P{io});
    CAPTURE(row.body, faults_of(report));
    CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
  }
}

TEST_CASE("a seed draws the order of blocks, and every block runs once", "[faults]") {
  const auto module = module_of_cuda(
      "extern \"C\" __global__ void k(int* next, int* at) { at[blockIdx.x] = atomicAdd(next, 1); "
      "}");
  std::set<std::vector<int>> orders;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    for (const std::uint32_t blocks : {1u, 2u, 12u, 97u}) {
      Device d;
      const auto next = d.output("next", 4), at = d.output("at", 4 * blocks);
      d.memory.mark_written(next);
      d.options.seed = seed;
      CHECK(d.run(module, "k", {blocks}, {1}, 0, P{next}, P{at}).faults.empty());
      std::vector<int> order = d.values<int>(at), ascending(blocks);
      std::iota(ascending.begin(), ascending.end(), 0);
      if (seed == 0) CHECK(order == ascending);
      if (blocks == 97) orders.insert(order);
      std::sort(order.begin(), order.end());
      CHECK(order == ascending);
    }
  }
  CHECK(orders.size() == 4);
}

TEST_CASE("the thread and lines of a fault are those of the text", "[faults]") {
  Device d;
  const auto ia = d.input("a", std::vector<float>(128)), io = d.output("o", 512);
  const auto report = d.run(module_of_cuda(broken), "traps", {1}, {128}, 0, P{ia}, P{io}, 128);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].thread == 77);
  CHECK(report.faults[0].source_line == 27);
  CHECK(report.faults[0].where.find("thread (77,0,0)") != std::string::npos);
  CHECK(report.faults[0].where.find("test.cu:27") != std::string::npos);
}

TEST_CASE("a launch that breaks its limits is refused", "[faults]") {
  const auto module = module_of_cuda(broken);
  auto program = ptx::make_program(module, "traps");
  REQUIRE(program);
  ptx::DeviceMemory memory;
  ptx::Launch good{
      .grid = {1}, .block = {32}, .dynamic_shared = 0, .parameters = std::vector<std::uint8_t>(20)};
  const auto refused = [&](auto change) {
    ptx::Launch launch = good;
    change(launch);
    auto report = ptx::execute(**program, memory, launch);
    if (!report.is_rejected()) return false;
    cupilot::testing::expect_code(report.rejected(), "run.launch");
    return true;
  };
  CHECK(refused([](ptx::Launch& l) { l.grid.x = 0; }));
  CHECK(refused([](ptx::Launch& l) { l.grid.y = 70000; }));
  CHECK(refused([](ptx::Launch& l) { l.block.x = 1025; }));
  CHECK(refused([](ptx::Launch& l) { l.block = {1024, 2, 1}; }));
  CHECK(refused([](ptx::Launch& l) { l.block.z = 65; }));
  CHECK(refused([](ptx::Launch& l) { l.dynamic_shared = 300000; }));
  CHECK(refused([](ptx::Launch& l) { l.parameters.resize(24); }));
  CHECK_FALSE(refused([](ptx::Launch&) {}));
}

TEST_CASE("checks can be switched off", "[faults]") {
  Device d;
  const auto ia = d.input("a", std::vector<float>(128, 2.0f)), io = d.output("o", 512);
  d.options.check_races = false;
  CHECK(faults_of(d.run(module_of_cuda(broken), "missing_barrier", {1}, {32}, 0, P{ia}, P{io}, 128))
            .find("run.race") == std::string::npos);
  d.options.check_initialised = false;
  CHECK(faults_of(d.run(module_of_cuda(broken), "uninitialised_shared", {1}, {128}, 0, P{ia}, P{io},
                        128)) == "");
}

TEST_CASE("a huge grid of empty blocks comes to its end", "[faults]") {
  Device d;
  d.options.instruction_budget = 100000;
  const auto module = module_of(".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() { }\n");
  const auto report = d.run(module, "k", {0x7fffffff, 65535, 65535}, {1024}, 0);
  REQUIRE(report.faults.size() == 1);
  cupilot::testing::expect_code(report.faults[0].code, "run.budget");
}

TEST_CASE("a read before or behind the kernel's parameters is refused", "[faults]") {
  for (const char* place : {"p-2", "p-8", "p+8", "p+7"}) {
    const auto module = module_of(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 p) { .reg .b16 h; "
        "ld.param.u16 h, [" +
        std::string(place) + "]; ret; }\n");
    Device d;
    const std::size_t data = d.output("data", 64);
    INFO(place);
    CHECK_THROWS_WITH(d.run(module, "k", {1}, {32}, 0, Device::Pointer{data}),
                      Catch::Contains("outside the kernel's parameters"));
  }
}

TEST_CASE("a budget is spent to the last instruction", "[faults]") {
  const auto module = module_of(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() { .reg .b32 r; mov.b32 r, 1; "
      "mov.b32 r, 2; ret; }\n");
  for (const auto& [budget, faults] : {std::pair{10u, 1u}, {11u, 0u}, {12u, 0u}}) {
    Device d;
    d.options.instruction_budget = budget;
    CHECK(d.run(module, "k", {1}, {32}, 0).faults.size() == faults);
  }
}
