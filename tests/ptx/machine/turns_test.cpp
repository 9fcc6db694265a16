// Between two strong accesses of a thread others come in some runs, and in others nobody does.
#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string turns = R"(
#define K extern "C" __global__ void
K by_volatile(int* o) { __shared__ volatile int s; const int t = threadIdx.x; if (t == 0) s = 0; __syncthreads();
  if (t % 32 == 0) s = s + 1; __syncthreads(); if (t == 0 && blockIdx.x == 0) o[0] = 4 * s; }
K by_exchange(int* o) { if (threadIdx.x % 32 == 0) { const int before = atomicOr(o, 0); atomicExch(o, before + 1); } }
K by_adding(int* o) { if (threadIdx.x % 32 == 0) atomicAdd(o, 1); }
K by_lock(int* o) { if (threadIdx.x % 32 != 0) return; while (atomicCAS(o + 1, 0, 1) != 0) {} __threadfence();
  *(volatile int*)o = *(volatile int*)o + 1; __threadfence(); atomicExch(o + 1, 0); }
K by_turns(int* o) { if (threadIdx.x % 32 != 0) return; const int me = blockIdx.x * 2 + threadIdx.x / 32;
  while (*(volatile int*)(o + 1) != me) {} __threadfence(); o[0] += 1; __threadfence(); atomicExch(o + 1, me + 1); }
)";

// What eight warps of four blocks count together.
int counted(const char* entry, std::uint64_t seed, bool check) {
  Device d;
  const auto out = d.output("o", 8);
  std::memset(d.memory.data(out).data(), 0, 8);
  d.memory.mark_written(out);
  d.options.seed = seed;
  d.options.check_races = check;
  d.options.resident = 4;
  d.options.instruction_budget = 10'000'000;
  const auto report = d.run(module_of_cuda(turns), entry, {4}, {64}, 0, P{out});
  CAPTURE(entry, seed, faults_of(report));
  CHECK(report.faults.empty());
  return d.values<int>(out)[0];
}

}  // namespace

TEST_CASE("an update that another warp or block may overtake is lost in some runs", "[turns]") {
  for (const char* entry : {"by_volatile", "by_exchange"}) {
    int lost = 0;
    for (std::uint64_t seed = 1; seed <= 32; ++seed) {
      lost += counted(entry, seed, true) < 8;
      CHECK(counted(entry, seed, false) == 8);  // counting runs are left alone
    }
    CAPTURE(entry);
    CHECK(lost >= 8);
    CHECK(lost <= 24);
    CHECK(counted(entry, 0, true) == 8);
  }
}

TEST_CASE(
    "updates that nobody can overtake are never lost, and who waits for others comes to an end",
    "[turns]") {
  for (const char* entry : {"by_adding", "by_lock", "by_turns"}) {
    for (std::uint64_t seed = 0; seed <= 32; ++seed) CHECK(counted(entry, seed, true) == 8);
  }
}
