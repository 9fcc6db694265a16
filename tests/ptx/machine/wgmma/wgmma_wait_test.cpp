// What one warp's wgmma.wait_group says of the other three: that their parts of the groups read no
// shared memory any longer, and nothing of their registers.
#include <cstdint>
#include <string>
#include <vector>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

// A warpgroup multiplies ones from a stage; its thread 0 alone releases the stage, and the producer
// warp fills it with twos for the second product. Sums come to 16 + 64.
std::string staged(const std::string& hooks) {
  return hooks + async_text + R"(
#ifndef BEFORE
#define BEFORE
#endif
#ifndef COMMIT
#define COMMIT committed()
#endif
#ifndef WAIT
#define WAIT waited(0)
#endif
#ifndef RELEASE
#define RELEASE if (t == 0) arrive(&empty)
#endif
#ifndef LAST
#define LAST waited(0)
#endif
#ifndef PRODUCER
#define PRODUCER
#endif
D void fenced() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
D void committed() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define waited(N) asm volatile("wgmma.wait_group.sync.aligned " #N ";" ::: "memory")
#define meet(ID, N) asm volatile("bar.sync " #ID ", " #N ";" ::: "memory")
D void multiply(float (&d)[4], u64 a, u64 b, int adds) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(adds)); }
K stage(float* o, const u32* next) {
  __shared__ __align__(1024) u32 sa[512], sb[64]; __shared__ u64 full, empty; __shared__ volatile u32 flag;
  int t = threadIdx.x, warp = t / 32; float d[4] = {0, 0, 0, 0};
  for (int i = t; i < 512; i += blockDim.x) sa[i] = 0x3f803f80;
  if (t < 64) sb[t] = 0x3f803f80;
  if (t == 0) { init(&full, 1); init(&empty, 1); flag = 0; }
  FENCE_PROXY; __syncthreads();
  if (warp == 4) {
    PRODUCER;
    if (t == 128) {
      wait(&empty, 0); expect(&full, 2304);
      load(sa, next, 2048, &full); load(sb, next, 256, &full);
    }
    return;
  }
  u64 a = (sm(sa) >> 4) | (64ull << 16) | (8ull << 32), b = (sm(sb) >> 4) | (8ull << 16) | (8ull << 32);
  fenced();
  BEFORE;
  multiply(d, a, b, 0);
  COMMIT;
  WAIT;
  RELEASE;
  wait(&full, 0);
  multiply(d, a, b, 1);
  committed();
  LAST;
  for (int i = 0; i < 4; ++i) o[t * 4 + i] = d[i];
}
)";
}

struct Twin {
  const char* hooks;
  const char* codes;    // one of which the fault has; "": it ends well
  const char* message;  // a part of it
};
const Twin twins[] = {
    {"", "", ""},
    // Another warp's wait, handed on by a barrier.
    {"#define RELEASE meet(1, 128); if (t == 96) arrive(&empty)\n", "", ""},
    {"#define WAIT if (warp == 2) waited(0); meet(1, 128)\n", "", ""},
    {"#define COMMIT committed(); committed()\n#define WAIT waited(1)\n", "", ""},
    {"#define WAIT if (warp != 3) waited(0)\n", "", ""},
    {"#define LAST waited(0); if (t == 0) sb[0] = 7\n", "", ""},
    // Too early, or of too few groups.
    {"#define WAIT\n", "run.race", "may still read"},
    {"#define WAIT waited(1)\n", "run.race", "may still read"},
    {"#define WAIT meet(1, 128)\n", "run.race", "may still read"},
    {"#define RELEASE\n#define WAIT if (t == 0) arrive(&empty); waited(0)\n", "run.race",
     "may still read"},
    {"#define WAIT if (warp == 2) waited(0)\n", "run.race", "may still read"},
    {"#define WAIT if (warp == 2) waited(1); meet(1, 128)\n", "run.race", "may still read"},
    {"#define COMMIT\n#define WAIT waited(0)\n", "run.race", "may still read"},
    // Sums and barriers speak for themselves only.
    {"#define LAST if (warp == 2) waited(0)\n", "run.race", "reads a register of a wgmma"},
    {"#define LAST if (warp == 2) waited(0); meet(1, 128)\n", "run.race",
     "reads a register of a wgmma"},
    {"#define LAST waited(0); if (t == 0) sb[0] = 7; d[0] += (float)(sb[0] & 8)\n", "run.race",
     "barrier"},
    // A warp that never comes.
    {"#define BEFORE if (warp == 3) return\n", "run.hang",
     "waits for group 1 of the warpgroup, but warp 3 ended after 0"},
    {"#define COMMIT if (warp == 3) return; committed()\n", "run.hang", "but warp 3 ended after 0"},
    {"#define BEFORE if (warp == 1) meet(1, 64)\n#define PRODUCER return\n", "run.hang",
     "waits for group 1 of the warpgroup, but warp 1 has committed 0"},
    {"#define BEFORE if (warp == 1) meet(1, 64)\n#define WAIT waited(0); if (warp == 0) meet(1, "
     "64)\n#define PRODUCER return\n",
     "run.hang", "waits for group 1 of the warpgroup, but warp 1 has committed 0"},
    {"#define BEFORE if (warp == 1) wait(&full, 0)\n", "run.hang", "waits forever"},
    {"#define BEFORE if (warp == 1) while (flag == 0) { }\n#define WAIT waited(0); flag = 1\n",
     "run.hang run.budget", ""},
    // Groups that are not the same in the four warps.
    {"#define COMMIT committed(); if (warp == 1) committed()\n", "run.divergence", "wgmma"},
    {"#define COMMIT if (warp != 1) committed()\n", "run.hang", "but warp 1 has committed 0"},
};

}  // namespace

TEST_CASE("a wait for wgmma groups speaks for the reads of all four warps", "[wgmma][faults]") {
  for (const Twin& twin : twins) {
    for (const bool late : {false, true}) {
      for (const std::uint64_t seed : {0, 1, 2, 3, 4}) {
        Device d;
        d.options.late = late;
        d.options.seed = seed;
        d.options.max_faults = 1;
        d.options.instruction_budget = 1'000'000;
        const auto out = d.output("o", 2048),
                   next = d.input("next", std::vector<std::uint32_t>(512, 0x40004000));
        const auto report =
            d.run(module_of_cuda(staged(twin.hooks)), "stage", {1}, {160}, 0, P{out}, P{next});
        INFO(twin.hooks << (late ? "late " : "eager ") << seed << "\n" << faults_of(report));
        if (twin.codes[0] == '\0') {
          CHECK(report.faults.empty());
          CHECK(d.values<float>(out) == std::vector<float>(512, 80.0f));
          continue;
        }
        REQUIRE(!report.faults.empty());
        CHECK(std::string(twin.codes).find(report.faults[0].code) != std::string::npos);
        CHECK(report.faults[0].message.find(twin.message) != std::string::npos);
      }
    }
  }
}

TEST_CASE("products of a function that has returned leave the next one's registers alone",
          "[wgmma]") {
  // `other` runs in some of the registers of `issue`, or in more, and waits for its group.
  const std::string text = staged("") + R"(
__device__ __noinline__ void issue(u64 a, u64 b, const float* x) {
  float v[48]; for (int i = 0; i < 48; ++i) v[i] = ((volatile const float*)x)[i];
  float d[4] = {v[0], v[1], v[2], v[3]};
  for (int i = 4; i < 48; ++i) d[i & 3] += v[i];
  fenced(); multiply(d, a, b, 0); committed();
}
template <int N> __device__ __noinline__ float other(const float* x) {
  float v[N]; for (int i = 0; i < N; ++i) v[i] = ((volatile const float*)x)[i];
  waited(0);
  float sum = 0; for (int i = 0; i < N; ++i) sum += v[i] * (i + 1);
  return sum;
}
template <int N> D void calls(float* o, const float* x) {
  __shared__ __align__(1024) u32 sa[512], sb[64]; int t = threadIdx.x;
  for (int i = t; i < 512; i += blockDim.x) sa[i] = 0x3f803f80;
  if (t < 64) sb[t] = 0x3f803f80;
  FENCE_PROXY; __syncthreads();
  issue((sm(sa) >> 4) | (64ull << 16) | (8ull << 32), (sm(sb) >> 4) | (8ull << 16) | (8ull << 32), x);
  o[t] = other<N>(x);
}
K few(float* o, const float* x) { calls<32>(o, x); }
K many(float* o, const float* x) { calls<64>(o, x); }
)";
  for (const char* entry : {"few", "many"}) {
    for (const bool late : {false, true}) {
      Device d;
      d.options.late = late;
      const auto out = d.output("o", 512), x = d.input("x", std::vector<float>(64, 1.0f));
      const auto report = d.run(module_of_cuda(text), entry, {1}, {128}, 0, P{out}, P{x});
      INFO(entry << (late ? " late" : " eager") << "\n" << faults_of(report));
      CHECK(report.faults.empty());
      const float sum = entry[0] == 'f' ? 528.0f : 2080.0f;
      CHECK(d.values<float>(out) == std::vector<float>(128, sum));
    }
  }
}

TEST_CASE("a copy of sums that are under way holds them, and not what follows", "[wgmma]") {
  const std::string hooks =
      "#define LAST float e[4]; for (int i = 0; i < 4; ++i) asm volatile(\"mov.f32 %0, %1;\" : "
      "\"=f\"(e[i]) : \"f\"(d[i])); multiply(e, a, b, 1); multiply(d, a, b, 0); committed(); "
      "waited(1); waited(0); for (int i = 0; i < 4; ++i) d[i] = 1000 * d[i] + e[i]\n";
  for (const bool late : {false, true}) {
    Device d;
    d.options.late = late;
    const auto out = d.output("o", 2048),
               next = d.input("next", std::vector<std::uint32_t>(512, 0x40004000));
    const auto report =
        d.run(module_of_cuda(staged(hooks)), "stage", {1}, {160}, 0, P{out}, P{next});
    INFO((late ? "late " : "eager ") << faults_of(report));
    CHECK(report.faults.empty());
    CHECK(d.values<float>(out) == std::vector<float>(512, 64000.0f + 80.0f + 64.0f));
  }
}
