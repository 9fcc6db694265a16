// Between two strong accesses of a thread others come in some runs, and in others nobody does.
#include "catch.hpp"
#include "ptx/machine/machine.hpp"
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
// Eight threads count under a lock; values travel by volatile accesses.
#define LOCKED(take, give) if (threadIdx.x % 32 != 0) return; while (atomicCAS(o + 1, 0, 1) != 0) {} take; \
  *(volatile int*)o = *(volatile int*)o + 1; give; atomicExch(o + 1, 0);
K lock_fenced(int* o) { LOCKED(__threadfence(), __threadfence()) }
K lock_given_in_block(int* o) { LOCKED(__threadfence(), __threadfence_block()) }
K lock_given_unfenced(int* o) { LOCKED(__threadfence(), ;) }
// A message of one word in each of eight slots, and its flag.
#define MESSAGE(between, then) if (threadIdx.x != 0) return; volatile int* w = o; const int b = blockIdx.x; \
  if (b > 0) { w[2 * b] = 1; between; w[2 * b + 1] = 1; return; } \
  int s = 8 - (int)gridDim.x + 1; for (int i = 1; i < gridDim.x; ++i) { while (w[2 * i + 1] == 0) {} then; s += w[2 * i]; } o[0] = s;
K message(int* o) { MESSAGE(__threadfence(), __threadfence()) }
K message_unfenced(int* o) { MESSAGE(;, ;) }
K message_unfenced_here(int* o) { MESSAGE(__threadfence(), ;) }
K message_unfenced_there(int* o) { MESSAGE(;, __threadfence()) }
K message_fenced_in_block(int* o) { MESSAGE(__threadfence_block(), __threadfence()) }
// One of two blocks that fence between their write and their read sees the other's.
K either_sees(int* o) { if (threadIdx.x != 0 || blockIdx.x > 1) return; volatile int* w = o; w[2 + blockIdx.x] = 1;
  __threadfence(); if (w[3 - blockIdx.x] == 1) atomicExch(o, 8); }
// Word and flag in one.
K packed(unsigned long long* o) { if (threadIdx.x != 0) return; volatile unsigned long long* w = o; const int b = blockIdx.x;
  if (b > 0) { w[b] = b << 8 | 1; return; } 
  int s = 2; for (int i = 1; i < gridDim.x; ++i) { unsigned long long v; while (((v = w[i]) & 1) == 0) {} s += v >> 8; } *(int*)o = s; }
// Who saw a value hands on that others see it.
K seen_by_another(int* o) { if (threadIdx.x != 0) return; volatile int* w = o; const int b = blockIdx.x;
  if (b == 0) w[2] = 1;
  if (b == 1) { while (w[2] == 0) {} __threadfence(); w[3] = 1; }
  if (b == 2) { while (w[3] == 0) {} __threadfence(); o[0] = 8 * w[2]; } }
)";

// What eight warps of four blocks count together.
int counted(const char* entry, std::uint64_t seed, bool check) {
  Device d;
  const auto out = d.output("o", 64);
  std::memset(d.memory.data(out).data(), 0, 64);
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

// Clusters that a launch, all of whose blocks may be resident, left for the next.
std::size_t kept(const char* entry, std::uint32_t blocks, std::uint64_t seed) {
  Device d;
  const auto out = d.output("o", 64);
  std::memset(d.memory.data(out).data(), 0, 64);
  d.memory.mark_written(out);
  const auto program = ptx::make_program(module_of_cuda(turns), entry);
  REQUIRE(bool(program));
  ptx::Launch launch{.grid = {blocks}, .block = {64}, .dynamic_shared = 0, .parameters = {}};
  const std::uint64_t address = d.memory.address(out);
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &address, 8);
  d.options.resident = blocks;
  d.options.seed = seed;
  const auto report = ptx::execute(**program, d.memory, launch, d.options);
  REQUIRE(bool(report));
  CHECK(report->faults.empty());
  CHECK(report->blocks_run == blocks);
  std::size_t clusters = 0;
  for (const auto& of_thread : (*program)->spare) clusters += of_thread.size();
  return clusters;
}

}  // namespace

TEST_CASE("a block that no other waits with ends before the next begins", "[turns]") {
  CHECK(kept("by_adding", 4, 0) == 1);
  CHECK(kept("by_volatile", 4, 0) == 1);
  CHECK(kept("message", 4, 0) == 2);  // the first waits for the three others
}

TEST_CASE("a launch keeps few of the blocks that gave way to one another", "[turns]") {
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)  // in half of them blocks give way
    most = std::max(most, kept("by_adding", 200, seed));
  CHECK(most == 32);
}

TEST_CASE("a strong read that nothing orders after a write may see what stood there before",
          "[turns]") {
  for (const char* entry :
       {"lock_given_in_block", "lock_given_unfenced", "message_unfenced", "message_unfenced_here",
        "message_unfenced_there", "message_fenced_in_block"}) {
    int lost = 0;
    for (std::uint64_t seed = 1; seed <= 32; ++seed) {
      lost += counted(entry, seed, true) != 8;
      CHECK(counted(entry, seed, false) == 8);
    }
    CAPTURE(entry);
    CHECK(lost >= 8);
    CHECK(counted(entry, 0, true) == 8);
  }
}

TEST_CASE("a strong read that comes after a write sees it", "[turns]") {
  for (const char* entry : {"lock_fenced", "message", "either_sees", "packed", "seen_by_another"}) {
    for (std::uint64_t seed = 0; seed <= 64; ++seed) CHECK(counted(entry, seed, true) == 8);
  }
}

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
