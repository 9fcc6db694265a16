// Accesses of several blocks to one word must be ordered by a release and an acquire of the
// device's scope, however the blocks take turns.
#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string between_blocks = R"(
#define K extern "C" __global__ void
#define T const int t = threadIdx.x, b = blockIdx.x
__device__ int get(const int* p) { int v; asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ int get_in_block(const int* p) { int v; asm volatile("ld.acquire.cta.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void put(int* p, int v) { asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ void put_in_block(int* p, int v) { asm volatile("st.release.cta.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ int look(const int* p) { return *(const volatile int*)p; }
__device__ void show(int* p, int v) { *(volatile int*)p = v; }
// Block 0 leaves word t for thread t of block 1; o[256] is the flag.
#define LEAVE(ready) if (b == 0) { o[t] = t; __syncthreads(); if (t == 0) { ready; } }
#define TAKE(wait) else { if (t == 0) { wait; } __syncthreads(); o[128 + t] = o[127 - t]; }
K apart(int* o) { T; o[128 * b + t] = b; }
K swapped(int* o) { T; o[128 * (1 - b) + t] = b; }
K apart_strided(int* o) { T; o[256 * b + 2 * t] = b; }
K swapped_strided(int* o) { T; o[256 * (1 - b) + 2 * t] = b; }
K released(int* o) { T; LEAVE(put(o + 256, 1)) TAKE(while (!get(o + 256))) }
K fenced(int* o) { T; LEAVE(__threadfence(); show(o + 256, 1)) TAKE(while (!look(o + 256)); __threadfence()) }
K every_thread_fences(int* o) { T; if (b == 0) { o[t] = t; __threadfence(); __syncthreads(); if (t == 0) atomicExch(o + 256, 1); } TAKE(while (!get(o + 256))) }
K not_released(int* o) { T; LEAVE(show(o + 256, 1)) TAKE(while (!get(o + 256))) }
K not_acquired(int* o) { T; LEAVE(put(o + 256, 1)) TAKE(while (!look(o + 256))) }
K released_in_block(int* o) { T; LEAVE(put_in_block(o + 256, 1)) TAKE(while (!get(o + 256))) }
K acquired_in_block(int* o) { T; LEAVE(put(o + 256, 1)) TAKE(while (!get_in_block(o + 256))) }
K fenced_in_block(int* o) { T; LEAVE(__threadfence_block(); show(o + 256, 1)) TAKE(while (!get(o + 256))) }
K fence_before_barrier(int* o) { T; if (b == 0) { o[t] = t; if (t == 0) __threadfence(); __syncthreads(); if (t == 0) show(o + 256, 1); } TAKE(while (!get(o + 256))) }
K leaves_unsynced(int* o) { T; if (b == 0) { o[t] = t; if (t == 0) put(o + 256, 1); } TAKE(while (!get(o + 256))) }
K takes_unsynced(int* o) { T; LEAVE(put(o + 256, 1)) else { if (t < 32) while (!get(o + 256)); o[128 + t] = o[127 - t]; } }
// The last block adds what all left.
#define LAST(fence) __shared__ int last; o[8 * b + t % 8] = b; fence; __syncthreads(); \
  if (t == 0) last = atomicAdd(o + 256, 1) == gridDim.x - 1; __syncthreads(); \
  if (last && t == 0) { int s = 0; for (int i = 0; i < gridDim.x; ++i) s += o[8 * i]; o[257] = s; }
K last_adds(int* o) { T; LAST(__threadfence()) }
// The ticket states its order.
#define TICKET(before, order, after) __shared__ int last; o[8 * b + t % 8] = b; __syncthreads(); \
  if (t == 0) { int v; before; asm volatile("atom.add" order ".u32 %0, [%1], 1;" : "=r"(v) : "l"(o + 256) : "memory"); \
    last = v == gridDim.x - 1; } __syncthreads(); after; \
  if (last && t == 0) { int s = 0; for (int i = 0; i < gridDim.x; ++i) s += o[8 * i]; o[257] = s; }
K ticket_both(int* o) { T; TICKET(;, ".acq_rel.gpu", ;) }
K ticket_releases(int* o) { T; TICKET(;, ".release.gpu", ;) }
K ticket_acquires(int* o) { T; TICKET(;, ".acquire.gpu", ;) }
K ticket_releases_then_fence(int* o) { T; TICKET(;, ".release.gpu", __threadfence()) }
K ticket_releases_then_narrow_fence(int* o) { T; TICKET(;, ".release.gpu", __threadfence_block()) }
K ticket_relaxed_after_fence(int* o) { T; TICKET(__threadfence(), ".relaxed.gpu", ;) }
K ticket_relaxed_between_fences(int* o) { T; TICKET(__threadfence(), ".relaxed.gpu", __threadfence()) }
K ticket_of_no_order(int* o) { T; TICKET(__threadfence(), "", ;) }
K ticket_of_no_order_between_fences(int* o) { T; TICKET(__threadfence(), "", __threadfence()) }
// A third block is told by the second what the first left.
K handed_on(int* o) { T; if (t > 0) return; if (b == 0) { o[0] = 7; __threadfence(); atomicAdd(o + 256, 1); }
  else if (b == 1) { while (atomicAdd(o + 256, 0) != 1); __threadfence(); atomicAdd(o + 256, 1); }
  else { while (get(o + 256) != 2); o[1] = o[0]; } }
K handed_on_by_result(int* o) { T; if (t > 0) return; if (b == 0) { o[0] = 7; __threadfence(); atomicAdd(o + 256, 1); }
  else if (b == 1) { while (atomicAdd(o + 256, 0) != 1); put(o + 257, 1); }
  else { while (!get(o + 257)); o[1] = o[0]; } }
K last_adds_unfenced(int* o) { T; LAST(;) if (b > 1000) __threadfence(); }
// Blocks take turns.
#define TURN(hand) if (t == 0) { while (get(o + 256) != b); o[0] += b; hand; }
K turns(int* o) { T; TURN(put(o + 256, b + 1)) }
K turns_unreleased(int* o) { T; TURN(show(o + 256, b + 1)) }
// No barrier of the grid.
K sum_of_all(int* o) { T; if (t == 0) atomicAdd(o, 1); __threadfence(); __syncthreads(); o[256 + 128 * b + t] = o[0]; }
K reads_what_the_next_writes(int* o) { T; if (t < 8) { const int v = o[8 * b + t]; o[8 * ((b + 1) % gridDim.x) + t] = v + 1; } }
K two_blocks_write(int* o) { T; o[t] = b; }
K two_blocks_write_the_same(int* o) { T; o[t] = 7 * t; }
K halves_of_a_word(short* o) { if (threadIdx.x == 0) o[blockIdx.x] = o[blockIdx.x] + 1; }
K bytes_of_a_word(char* o) { if (threadIdx.x == 0) o[blockIdx.x] = o[blockIdx.x] + 1; }
K half_of_another(short* o) { if (threadIdx.x == 0) o[blockIdx.x] = o[blockIdx.x ^ 1] + 1; }
)";

struct Shared {
  const char* entry;
  std::uint32_t blocks;
  const char* code;
};
const Shared shared_rows[] = {
    {"released", 2, ""},
    {"fenced", 2, ""},
    {"every_thread_fences", 2, ""},
    {"not_released", 2, "run.race"},
    {"not_acquired", 2, "run.race"},
    {"released_in_block", 2, "run.race"},
    {"acquired_in_block", 2, "run.race"},
    {"fenced_in_block", 2, "run.race"},
    {"fence_before_barrier", 2, "run.race"},
    {"leaves_unsynced", 2, "run.race"},
    {"takes_unsynced", 2, "run.race"},
    {"last_adds", 9, ""},
    {"last_adds_unfenced", 9, "run.race"},
    {"ticket_both", 9, ""},
    {"ticket_releases", 9, "run.race"},
    {"ticket_acquires", 9, "run.race"},
    {"ticket_releases_then_fence", 9, ""},
    {"ticket_releases_then_narrow_fence", 9, "run.race"},
    {"ticket_relaxed_after_fence", 9, "run.race"},
    {"ticket_relaxed_between_fences", 9, ""},
    {"ticket_of_no_order", 9, ""},
    {"ticket_of_no_order_between_fences", 9, ""},
    {"handed_on", 3, ""},
    {"handed_on_by_result", 3, ""},
    {"turns", 13, ""},
    {"turns_unreleased", 13, "run.race"},
    {"sum_of_all", 2, "run.race"},
    {"reads_what_the_next_writes", 5, "run.race"},
    {"two_blocks_write", 3, "run.race"},
    {"two_blocks_write_the_same", 3, ""},
    {"halves_of_a_word", 9, ""},
    {"bytes_of_a_word", 9, ""},
    {"half_of_another", 9, "run.race"},
};

}  // namespace

TEST_CASE("blocks that touch the same words must be ordered by release and acquire",
          "[order][threads]") {
  for (const Shared& row : shared_rows) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      for (const std::uint32_t threads : {1, 2}) {
        Device d;
        const auto io = d.output("o", 4096);
        d.memory.mark_written(io);
        d.options.seed = seed;
        d.options.threads = threads;
        d.options.resident = 64;
        d.options.instruction_budget = 1'000'000;
        const auto report =
            d.run(module_of_cuda(between_blocks), row.entry, {row.blocks}, {128}, 0, P{io});
        CAPTURE(row.entry, seed, threads, faults_of(report));
        CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
      }
    }
  }
}

TEST_CASE("what blocks store alike is remarked, not refused", "[order]") {
  Device d;
  const auto io = d.output("o", 4096);
  d.options.seed = 1;
  const auto report =
      d.run(module_of_cuda(between_blocks), "two_blocks_write_the_same", {3}, {128}, 0, P{io});
  CHECK(report.faults.empty());
  REQUIRE(report.remarks.size() == 1);
  CHECK(report.remarks[0].code == "same_value");
  CHECK(report.remarks[0].message.find("writes o at offset") != std::string::npos);
}

TEST_CASE("order by an atomic's result alone is remarked, not refused", "[order]") {
  struct Row {
    const char* entry;
    bool remarked;
    std::uint32_t blocks = 9;
  };
  for (const Row row : {Row{"last_adds", true},
                        {"ticket_of_no_order", true},
                        {"ticket_both", false},
                        {"ticket_of_no_order_between_fences", false},
                        {"handed_on", false, 3},
                        {"handed_on_by_result", true, 3}}) {
    Device d;
    const auto io = d.output("o", 4096);
    d.memory.mark_written(io);
    d.options.seed = 1;
    d.options.resident = 64;
    const auto report =
        d.run(module_of_cuda(between_blocks), row.entry, {row.blocks}, {128}, 0, P{io});
    CAPTURE(row.entry, faults_of(report));
    CHECK(report.faults.empty());
    std::string told;
    for (const auto& one : report.remarks) told += one.code == "assumed_order" ? one.message : "";
    CHECK(!told.empty() == row.remarked);
    if (row.remarked) CHECK(told.find(") of block (") != std::string::npos);
  }
}

TEST_CASE("where no races are looked for blocks are spread over threads on request",
          "[order][threads]") {
  for (const bool spread : {false, true}) {
    Device d;
    const auto io = d.output("o", 4096);
    d.options.check_races = false;
    d.options.threads = 2;
    d.options.spread_unchecked = spread;
    const auto report = d.run(module_of_cuda(between_blocks), "apart", {8}, {128}, 0, P{io});
    CHECK(report.faults.empty());
    CHECK(report.threads == (spread ? 2 : 1));
  }
}

TEST_CASE("a launch knows nothing of the blocks that wrote in the one before", "[order]") {
  const auto module = module_of_cuda(between_blocks);
  for (const char* stride : {"", "_strided"}) {
    for (const bool races : {true, false}) {
      CAPTURE(stride, races);
      Device d;
      const auto io = d.output("o", 4096);
      d.options.seed = 1;
      d.options.check_races = races;
      for (const char* entry : {"apart", "swapped", "apart"}) {
        const auto report = d.run(module, std::string(entry) + stride, {2}, {128}, 0, P{io});
        CHECK(report.faults.empty());
        CHECK(report.independent);
      }
    }
  }
}
