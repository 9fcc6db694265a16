// Lanes of a warp that part: those that end are not waited for, those that spin let others run.
#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string parted = R"(
#define K extern "C" __global__ void
#define T const int t = threadIdx.x; __shared__ int s[128]; s[t] = -1; __syncthreads()
K returns_before_barrier(int* o, int n) { T; if (t >= n) return; s[t] = t; __syncthreads(); o[t] = s[n - 1 - t]; }
K returns_in_a_loop(int* o, int n) { T; for (int i = 0; i < 3; ++i) { if (t >= n - i) return; s[t] = t; __syncthreads(); o[t] = s[t]; __syncthreads(); } }
K counts_and_returns(int* o, int n) { T; if (t >= n) { atomicAdd(o + 300, 1); return; } s[t] = t; __syncthreads(); o[t] = s[n - 1 - t]; }
K returns_before_shuffle(int* o, int n) { T; if (t >= n) return; o[t] = __shfl_sync(~0u, t, 0); }
K returns_before_vote(int* o, int n) { T; if (t >= n) return; o[t] = __any_sync(~0u, t == 0); __syncwarp(); o[t] += 1; }
K goes_past_a_barrier(int* o, int n) { T; if (t < n) __syncthreads(); o[t] = t; }
K waits_at_two_places(int* o, int n) { T; if (t < n) { s[t] = 1; __syncthreads(); o[t] = 1; } else { s[t] = 2; __syncthreads(); o[t] = 2; } }
K goes_past_a_shuffle(int* o, int n) { T; int v = t; if (t < n) v = __shfl_xor_sync(~0u, v, 1); o[t] = v; }
K lanes_lock(int* o, int n) { const int t = threadIdx.x; while (atomicCAS(o + 200, 0, 1) != 0) { } o[0] += t; __threadfence(); atomicExch(o + 200, 0); }
K lane_waits_for_lane(int* o, int n) { const int t = threadIdx.x; int* f = o + 200; if (t == 3) { while (atomicCAS(f, 2, 2) != 1) { } o[1] = 1; } if (t == 4) atomicExch(f, 1); }
K lane_polls_by_adding_nothing(int* o, int n) { const int t = threadIdx.x; int* f = o + 200; if (t == 3) { while (atomicAdd(f, 0) != 1) { } o[1] = 1; } if (t == 4) atomicExch(f, 1); }
K asks_who_is_active(unsigned* o, int n) { const unsigned t = threadIdx.x; unsigned v = 0; if (t & 1) v = o[128 + t]; o[t] = __activemask() + v; }
)";

struct Parted {
  const char* entry;
  const char* code;
  const char* says;
};
const Parted parted_rows[] = {
    {"returns_before_barrier", "", ""},
    {"returns_in_a_loop", "", ""},
    {"counts_and_returns", "", ""},
    {"returns_before_shuffle", "", ""},
    {"returns_before_vote", "", ""},
    {"goes_past_a_barrier", "run.divergence", "a barrier is reached by lanes"},
    {"waits_at_two_places", "run.divergence", "barrier"},
    {"goes_past_a_shuffle", "run.divergence", ".sync instruction"},
    {"lane_waits_for_lane", "", ""},
    {"lane_polls_by_adding_nothing", "", ""},
};

}  // namespace

TEST_CASE("lanes that end are not waited for", "[faults]") {
  for (const Parted& row : parted_rows) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      Device d;
      const auto io = d.output("o", 4096);
      d.memory.mark_written(io);
      d.options.seed = seed;
      d.options.instruction_budget = 200'000;
      const auto report = d.run(module_of_cuda(parted), row.entry, {1}, {128}, 0, P{io}, 77);
      CAPTURE(row.entry, seed, faults_of(report));
      CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
      if (!report.faults.empty())
        CHECK(report.faults[0].message.find(row.says) != std::string::npos);
    }
  }
}

TEST_CASE("lanes that spin for a lock let its owner run", "[faults]") {
  Device d;
  const auto io = d.output("o", 4096);
  d.memory.mark_written(io);
  d.options.instruction_budget = 400'000;
  d.options.check_races = false;
  const auto report = d.run(module_of_cuda(parted), "lanes_lock", {1}, {32}, 0, P{io}, 77);
  INFO(faults_of(report));
  CHECK(report.faults.empty());
  CHECK(d.values<int>(io)[0] == 31 * 16);
}

// CUDA promises of active lanes that the one that asks is among them, not that all are.
TEST_CASE("each lane that asks for the active ones is among them", "[faults]") {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    Device d;
    const auto io = d.output("o", 4096);
    d.memory.mark_written(io);
    d.options.seed = seed;
    const auto report =
        d.run(module_of_cuda(parted), "asks_who_is_active", {1}, {128}, 0, P{io}, 77);
    CAPTURE(seed, faults_of(report));
    CHECK(report.faults.empty());
    for (std::uint32_t t = 0; t < 128; ++t) {
      CAPTURE(t);
      CHECK((d.values<std::uint32_t>(io)[t] >> t % 32 & 1) == 1);
    }
  }
}
