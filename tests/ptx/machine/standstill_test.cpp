// Threads that ask for ever for what nobody changes hang; those that ask for long do not.
#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "support/reached.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

// o[0] takes the result of those that end; all of o is 0 at first.
const std::string polls = R"(
#define K extern "C" __global__ void
__device__ int acquired(int* p) { int v; asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ int worked(int n) { int v = threadIdx.x; for (int i = 0; i < n; ++i) v = v * 1664525 + (v >> 7) + i; return v; }
#define SEEN(p) (*(volatile int*)(p))
// Nobody else writes what these wait for.
K adds_nothing(int* o) { while (atomicAdd(o + 1, 0) == 0) {} o[0] = 1; }
K acquires(int* o) { if (threadIdx.x == 0) while (acquired(o + 1) == 0) {} __syncthreads(); o[0] = 1; }
K reads_volatile(int* o) { while (SEEN(o + 1) == 0) {} o[0] = 1; }
K sleeps(int* o) { while (SEEN(o + 1) == 0) __nanosleep(100); o[0] = 1; }
K keeps_its_lock(int* o) { if (threadIdx.x % 32) return; while (atomicCAS(o + 1, 0, 1) != 0) {} o[0] = 1; }
K exchanges(int* o) { if (threadIdx.x % 32) return; while (atomicExch(o + 1, 1) != 0) {} o[0] = 1; }
K lane_waits(int* o) { if (threadIdx.x == 3) while (SEEN(o + 1) == 0) {} __syncwarp(); o[0] = 1; }
K lanes_wait_for_their_own(int* o) { while (SEEN(o + 1 + threadIdx.x % 2) == 0) {} o[0] = 1; }
K in_shared(int* o) { __shared__ volatile int s; if (threadIdx.x == 0) s = 0; __syncthreads(); if (threadIdx.x == 0) while (s == 0) {} o[0] = 1; }
// Somebody writes it, late.
#define LATE(how, wait) if (threadIdx.x != 0) return; if (blockIdx.x == 0) { o[8] = worked(60000); __threadfence(); how; return; } wait; \
  if (blockIdx.x == gridDim.x - 1) o[0] = 1;
K released_late(int* o) { LATE(atomicExch(o + 1, 1), while (atomicAdd(o + 1, 0) == 0) {}) }
K stored_late(int* o) { LATE(SEEN(o + 1) = 1, while (acquired(o + 1) == 0) {}) }
K slept_for(int* o) { LATE(SEEN(o + 1) = 1, while (SEEN(o + 1) == 0) __nanosleep(50)) }
K backs_off(int* o) { LATE(SEEN(o + 1) = 1, while (SEEN(o + 1) == 0) { const long long t = clock64(); while (clock64() - t < 300) {} }) }
K lock_held_long(int* o) { if (threadIdx.x) return; while (atomicCAS(o + 1, 0, 1) != 0) {} __threadfence(); SEEN(o + 8) = SEEN(o + 8) + (worked(20000) & 1);
  __threadfence(); atomicExch(o + 1, 0); if (blockIdx.x == 0) o[0] = 1; }
// Give up by themselves.
K counts_rounds(int* o) { int n = 0; while (SEEN(o + 1) == 0 && ++n < 30000) {} o[0] = 1; }
K counts_rounds_of_some(int* o) { int n = 0; while (atomicAdd(o + 1, 0) == 0 && (threadIdx.x != 9 || ++n < 30000)) if (n == 29999) atomicExch(o + 1, 1); o[0] = 1; }
K waits_by_the_clock(int* o) { const long long t = clock64(); while (SEEN(o + 1) == 0 && clock64() - t < 200000) {} o[0] = 1; }
K counts_in_memory(int* o) { if (threadIdx.x) return; if (blockIdx.x) { while (SEEN(o + 1) < 20000) {} o[0] = 1; return; }
  while (atomicAdd(o + 1, 1) < 20000) {} if (gridDim.x == 1) o[0] = 1; }
// Block 0 asks for the third byte of what block 1 counts, and changes no register for 65536 rounds.
K counts_out_of_sight(int* o) { if (threadIdx.x) return; if (blockIdx.x) { while (SEEN(o + 1) == 0) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(o + 2) : "memory"); return; }
  while (((volatile unsigned char*)(o + 2))[2] == 0) {} SEEN(o + 1) = 1; o[0] = 1; }
// The same of what it stores.
K stores_out_of_sight(int* o) { if (threadIdx.x) return; if (blockIdx.x) { while (SEEN(o + 1) == 0) asm volatile(
  "{ .reg .b32 v; ld.global.u32 v, [%0]; add.u32 v, v, 1; st.relaxed.gpu.u32 [%0], v; mov.u32 v, 0; }" ::"l"(o + 2) : "memory"); return; }
  while (((volatile unsigned char*)(o + 2))[2] == 0) {} SEEN(o + 1) = 1; o[0] = 1; }
// Every second lane asks until the others, which compute first, are done.
K lane_for_lane(int* o) { if (threadIdx.x > 1) return; if (threadIdx.x == 1) { o[8] = worked(50000); atomicExch(o + 1, 1); } else while (atomicAdd(o + 1, 0) == 0) {}
  o[0] = 1; }
// Two lanes ask in places of their own for what a third publishes, after it computed.
K lanes_for_a_third(int* o) { if (threadIdx.x > 2) return; if (threadIdx.x == 0) { while (SEEN(o + 1) == 0) {} } else if (threadIdx.x == 1) { while (acquired(o + 2) == 0) {} }
  else { o[8] = worked(30000); atomicExch(o + 1, 1); atomicExch(o + 2, 1); } o[0] = 1; }
// All blocks meet.
K meets(int* o) { if (threadIdx.x == 0) { atomicAdd(o + 1, 1); while (SEEN(o + 1) < gridDim.x) {} } __syncthreads(); if (blockIdx.x + threadIdx.x == 0) o[0] = 1; }
)";

struct Polled {
  const char* entry;
  std::uint32_t blocks, resident;
  const char* code;
};
const Polled rows[] = {
    {"adds_nothing", 1, 1, "run.hang"},
    {"adds_nothing", 3, 4, "run.hang"},
    {"acquires", 2, 4, "run.hang"},
    {"reads_volatile", 2, 4, "run.hang"},
    {"sleeps", 2, 4, "run.hang"},
    {"keeps_its_lock", 2, 4, "run.hang"},
    {"exchanges", 2, 4, "run.hang"},
    {"lane_waits", 1, 4, "run.hang"},
    {"lanes_wait_for_their_own", 1, 4, "run.hang"},
    {"in_shared", 2, 4, "run.hang"},
    {"meets", 8, 4, "run.hang"},
    {"released_late", 1, 4, ""},
    {"released_late", 4, 4, ""},
    {"stored_late", 4, 4, ""},
    {"slept_for", 4, 4, ""},
    {"backs_off", 4, 4, ""},
    {"lock_held_long", 4, 4, ""},
    {"counts_rounds", 2, 4, ""},
    {"counts_rounds_of_some", 1, 4, ""},
    {"waits_by_the_clock", 2, 4, ""},
    {"counts_in_memory", 3, 4, ""},
    {"counts_out_of_sight", 2, 4, ""},
    {"stores_out_of_sight", 2, 4, ""},
    {"lane_for_lane", 1, 4, ""},
    {"lanes_for_a_third", 1, 4, ""},
    {"meets", 8, 8, ""},
};

ptx::Report polled(const Polled& row, std::uint64_t seed, std::uint32_t threads, bool alone) {
  Device d;
  const auto out = d.output("o", 4096);
  std::memset(d.memory.data(out).data(), 0, 4096);
  d.memory.mark_written(out);
  d.options.seed = seed;
  d.options.threads = threads;
  d.options.resident = row.resident;
  d.options.alone = alone;
  d.options.instruction_budget = alone ? 20'000'000 : 2'000'000;
  const auto report = d.run(module_of_cuda(polls), row.entry, {row.blocks}, {64}, 0, P{out});
  const bool ends = report.faults.empty() && row.blocks > 1;
  if (ends) CHECK(d.values<int>(out)[0] == 1);
  return report;
}

}  // namespace

TEST_CASE("a launch hangs when all that can run ask for what none of them changes",
          "[faults][threads]") {
  for (const Polled& row : rows) {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      for (const std::uint32_t threads : {1u, 2u}) {
        const auto report = polled(row, seed, threads, true);
        CAPTURE(row.entry, row.blocks, seed, threads, faults_of(report));
        CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
        if (report.faults.empty()) continue;
        CHECK(report.warp_instructions < 2'000'000);
        CHECK(report.faults[0].message.find("asks for ever") == 0);
        CHECK((report.faults[0].message.find("have not begun") != std::string::npos) ==
              (row.blocks > row.resident));
        CHECK(report.faults[0].ptx_line > 0);
      }
    }
  }
}

TEST_CASE("what others may write is asked for up to the budget", "[faults]") {
  const auto report = polled({"meets", 8, 4, ""}, 1, 1, false);
  REQUIRE(report.faults.size() == 1);
  cupilot::testing::expect_code(report.faults[0].code, "run.budget");
}
