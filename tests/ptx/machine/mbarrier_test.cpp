// mbarriers and bulk copies, through CUDA text: what they compute, in both modes, and the faults of
// their misuse.
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string text = async_text + R"(
K phases(u32* o) {
  __shared__ u64 b; int t = threadIdx.x;
  if (t == 0) init(&b, 64);
  __syncthreads();
  for (int i = 0; i < 3; ++i) { o[i * 64 + t] = try_once(&b, (i & 1) ^ 1); arrive(&b); wait(&b, i & 1); }
  u64 s = arrive_state(&b); u32 n; asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(s));
  u32 ok = 0;
  while (!ok) asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(sm(&b)), "l"(s) : "memory");
  o[192 + t] = n;
  if (t < 32) asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(sm(&b)) : "memory"); else arrive(&b);
  wait(&b, 0);
  __syncthreads();
  if (t >= 32) { arrive(&b); wait(&b, 1); }
  o[256 + t] = 1;
  __syncthreads();
  if (t == 0) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(sm(&b)) : "memory"); init(&b, 2);
    u64 s; asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(s) : "r"(sm(&b)) : "memory");
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;" ::"r"(sm(&b)) : "memory"); arrive(&b);
    o[320] = try_once(&b, 0);
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 8;" ::"r"(sm(&b)) : "memory");
    o[321] = try_once(&b, 0); }
}
// A ring of two stages: one thread loads, one warp doubles in place, a bulk store writes back.
K ring(const float* a, float* o, int n) {
  __shared__ __align__(128) float s[2][128]; __shared__ __align__(128) float out[128]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x;
  if (t == 0) { for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 32); } asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  if (t == 32) {
    for (int i = 0; i < n; ++i) {
#ifndef NO_EMPTY_WAIT
      wait(&empty[i & 1], ((i >> 1) & 1) ^ 1);
#endif
      expect(&full[i & 1], EXPECT); load(s[i & 1], a + i * 128, 512, &full[i & 1]); }
  } else if (t < 32) {
    for (int i = 0; i < n; ++i) {
      FULL_WAIT;
      float v[4]; for (int j = 0; j < 4; ++j) v[j] = s[i & 1][t + 32 * j] * 2;
      DRAIN;
#ifndef NO_EMPTY_ARRIVE
      arrive(&empty[i & 1]);
#endif
#ifndef NO_READ_WAIT
      if (t == 0) wait_read();
#endif
#ifndef NO_WARP_BARRIER
      __syncwarp();
#endif
      for (int j = 0; j < 4; ++j) out[t + 32 * j] = v[j];
      FENCE_PROXY; __syncwarp();
      if (t == 0) { store(o + i * 128, out, 512); commit(); }
    }
    if (t == 0) wait_groups();
  }
}
K copied(const float* a, float* o) {
  __shared__ float s[64]; __shared__ u64 b; int t = threadIdx.x;
  if (t == 0) init(&b, 32 * COUNT);
  __syncthreads();
  if (t < 32) {
    for (int j = 0; j < 2; ++j) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sm(s + t + 32 * j)), "l"(a + t + 32 * j) : "memory");
    asm volatile("cp.async.mbarrier.arrive" NOINC ".shared::cta.b64 [%0];" ::"r"(sm(&b)) : "memory");
    OWN
  } else { COPIED_WAIT; for (int j = 0; j < 2; ++j) o[t - 32 + 32 * j] = s[63 - (t - 32) - 32 * j]; }
}
K unwaited_bulk(const float* a, float* o) {
  __shared__ __align__(16) float s[64]; __shared__ u64 b; int t = threadIdx.x;
  if (t == 0) { init(&b, 1); expect(&b, 256); load(s, a, 256, &b); }
  __syncthreads();
  o[t] = s[t];
}
K unwaited_copy(const float* a, float* o) {
  __shared__ float s[64]; int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sm(s + t)), "l"(a + t) : "memory");
  __syncthreads();
  o[t] = s[t];
}
K sums(const float* a, float* f, u32* q) {
  __shared__ __align__(16) float s[64]; __shared__ __align__(16) u32 v[16]; int t = threadIdx.x;
  s[t] = a[t]; if (t < 16) v[t] = t + 1;
  FENCE_PROXY; __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" ::"l"(f), "r"(sm(s)) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], 64;" ::"l"(q), "r"(sm(v)) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(a) : "memory");
    commit(); wait_groups(); }
}
)";

std::string with(const std::string& defines) {
  std::string out;
  const auto add = [&](const char* name, const char* value) {
    if (defines.find(std::string("#define ") + name) == std::string::npos)
      out += std::string("#define ") + name + " " + value + "\n";
  };
  add("EXPECT", "512");
  add("FULL_WAIT", "wait(&full[i & 1], (i >> 1) & 1)");
  add("COUNT", "1");
  add("NOINC", "\".noinc\"");
  add("OWN", "");
  add("COPIED_WAIT", "wait(&b, 0)");
  return defines + "\n" + out + text;
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i) + 0.5f;
  return out;
}

struct Mode {
  std::uint64_t seed;
  bool late;
};
constexpr Mode modes[] = {{0, false}, {0, true}, {1, true}, {2, false}, {3, true}};

}  // namespace

TEST_CASE("mbarrier phases, states, drops and transactions", "[mbarrier]") {
  for (const Mode& mode : modes) {
    Device d;
    d.options.seed = mode.seed;
    d.options.late = mode.late;
    const auto io = d.output("o", 4 * 322);
    REQUIRE(faults_of(d.run(module_of_cuda(with("")), "phases", {1}, {64}, 0, P{io})) == "");
    const auto o = d.values<std::uint32_t>(io);
    std::vector<int> missing(65, 0);
    for (std::size_t t = 0; t < 64; ++t) {
      CHECK(o[t] == 1);  // a fresh barrier counts as one whose odd phase is over
      CHECK(o[256 + t] == 1);
      ++missing.at(o[192 + t]);
    }
    CHECK(missing[64] == 32);  // lanes of a warp arrive together
    CHECK(missing[32] == 32);
    CHECK(o[320] == 0);
    CHECK(o[321] == 1);
  }
}

TEST_CASE("a ring of bulk copies gives the same in both modes", "[mbarrier]") {
  for (const Mode& mode : modes) {
    Device d;
    d.options.seed = mode.seed;
    d.options.late = mode.late;
    const auto a = ramp(128 * 7);
    const auto ia = d.input("a", a), io = d.output("o", 4 * a.size());
    const auto report = d.run(module_of_cuda(with("")), "ring", {1}, {64}, 0, P{ia}, P{io}, 7);
    REQUIRE(faults_of(report) == "");
    const auto o = d.values<float>(io);
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(o[i] == 2 * a[i]);
    CHECK(report.counts[cupilot::Counter::async_copy_bytes].value ==
          4.0 * static_cast<double>(a.size()));
    CHECK(report.counts[cupilot::Counter::global_store_sectors].value ==
          4.0 * static_cast<double>(a.size()) / 32);
  }
}

TEST_CASE("what a ring of bulk copies needs shows when it is removed", "[mbarrier]") {
  struct Mutant {
    const char* defines;
    const char* code;
    const char* says;
  };
  const Mutant mutants[] = {
      {"#define FULL_WAIT", "run.", ""},
      {"#define FULL_WAIT try_once(&full[i & 1], (i >> 1) & 1)", "run.race", "asynchronous copy"},
      {"#define NO_EMPTY_WAIT", "run.", ""},
      {"#define NO_EMPTY_ARRIVE", "run.hang", "32 of 32 arrivals"},
      {"#define NO_READ_WAIT", "run.race", "may still read"},
      {"#define NO_WARP_BARRIER\n#define NO_READ_WAIT", "run.race", ""},
      {"#define DRAIN", "run.race", "loads of warp 0 may be on their way"},
      {"#define FENCE_PROXY", "run.race", "without fence.proxy.async"},
      {"#define EXPECT 516", "run.hang", "4 bytes to come"},
      {"#define EXPECT 508", "run.", ""},
  };
  for (const Mutant& mutant : mutants) {
    for (const bool late : {false, true}) {
      INFO(mutant.defines << (late ? " late" : " eager"));
      Device d;
      d.options.late = late;
      d.options.instruction_budget = 2'000'000;
      const auto a = ramp(128 * 7);
      const auto ia = d.input("a", a), io = d.output("o", 4 * a.size());
      const auto report =
          d.run(module_of_cuda(with(mutant.defines)), "ring", {1}, {64}, 0, P{ia}, P{io}, 7);
      REQUIRE(report.faults.size() == 1);
      const ptx::Fault& f = report.faults[0];
      INFO(faults_of(report));
      CHECK(f.code.rfind(mutant.code, 0) == 0);
      CHECK(f.message.find(mutant.says) != std::string::npos);
      CHECK(f.source_line > 0);
    }
  }
}

TEST_CASE("a wait that gives up after a few polls shows where copies are late", "[mbarrier]") {
  Device d;
  d.options.late = true;
  const auto a = ramp(128 * 7);
  const auto ia = d.input("a", a), io = d.output("o", 4 * a.size());
  const auto module = module_of_cuda(with(
      "#define FULL_WAIT for (int p = 0; p < 3; ++p) if (try_once(&full[i & 1], (i >> 1) & 1)) "
      "break"));
  const auto report = d.run(module, "ring", {1}, {64}, 0, P{ia}, P{io}, 7);
  REQUIRE(report.faults.size() == 1);
  INFO(faults_of(report));
  CHECK(report.faults[0].code == "run.race");
}

TEST_CASE("late copies move nothing before they are waited for", "[mbarrier]") {
  for (const char* entry : {"unwaited_bulk", "unwaited_copy"}) {
    for (const bool late : {false, true}) {
      INFO(entry << (late ? " late" : " eager"));
      Device d;
      d.options.late = late;
      d.options.check_races = d.options.check_initialised = false;
      const auto a = ramp(64);
      const auto ia = d.input("a", a), io = d.output("o", 256);
      REQUIRE(faults_of(d.run(module_of_cuda(with("")), entry, {1}, {64}, 0, P{ia}, P{io})) == "");
      CHECK((d.values<float>(io) == a) != late);
    }
  }
}

TEST_CASE("cp.async arrives at an mbarrier", "[mbarrier]") {
  for (const Mode& mode : modes) {
    for (const bool counted : {true, false}) {
      Device d;
      d.options.seed = mode.seed;
      d.options.late = mode.late;
      const auto a = ramp(64);
      const auto ia = d.input("a", a), io = d.output("o", 256);
      const std::string own = counted ? "" : "#define NOINC \"\"\n#define OWN arrive(&b);\n";
      REQUIRE(faults_of(d.run(module_of_cuda(with(own)), "copied", {1}, {64}, 0, P{ia}, P{io})) ==
              "");
      const auto o = d.values<float>(io);
      for (std::size_t i = 0; i < 64; ++i) REQUIRE(o[i] == a[63 - i]);
    }
  }
  for (const bool late : {false, true}) {
    Device d;
    d.options.late = late;
    const auto ia = d.input("a", ramp(64)), io = d.output("o", 256);
    const auto report =
        d.run(module_of_cuda(with("#define COPIED_WAIT")), "copied", {1}, {64}, 0, P{ia}, P{io});
    REQUIRE(report.faults.size() == 1);
    CHECK(report.faults[0].code == "run.race");
  }
}

TEST_CASE("bulk reductions add to memory", "[mbarrier]") {
  for (const Mode& mode : modes) {
    Device d;
    d.options.late = mode.late;
    const auto a = ramp(64);
    const auto ia = d.input("a", a), f = d.output("f", 256), q = d.output("q", 64);
    d.memory.mark_written(f);
    d.memory.mark_written(q);
    const std::uint32_t nine = 9;
    for (int i = 0; i < 16; ++i) std::memcpy(d.memory.data(q).data() + 4 * i, &nine, 4);
    REQUIRE(faults_of(d.run(module_of_cuda(with("")), "sums", {2}, {64}, 0, P{ia}, P{f}, P{q})) ==
            "");
    for (std::size_t i = 0; i < 64; ++i) CHECK(d.values<float>(f)[i] == 2 * a[i]);
    for (std::uint32_t i = 0; i < 16; ++i)
      CHECK(d.values<std::uint32_t>(q)[i] == std::max(i + 1, 9u));
  }
}
