// Threads of a block that touch the same bytes of global memory: kernels of a line, each right or
// with one order missing.
#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string touching = async_text + R"(
#define START const int t = threadIdx.x; float v = 0; o[t] = a[t];
K other_warp_reads(const float* a, float* o) { START v = o[t ^ 32]; o[128 + t] = v; }
K other_warp_reads_synced(const float* a, float* o) { START __syncthreads(); v = o[t ^ 32]; o[128 + t] = v; }
K other_warp_reads_in_part(const float* a, float* o) { START if (t < 64) { asm volatile("bar.sync 1, 64;" ::: "memory"); v = o[t ^ 32]; } o[128 + t] = v; }
K other_warp_reads_beyond(const float* a, float* o) { START if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory"); v = o[t ^ 64]; o[128 + t] = v; }
K other_lane_reads(const float* a, float* o) { START v = o[t ^ 1]; o[128 + t] = v; }
K other_lane_reads_synced(const float* a, float* o) { START __syncwarp(); v = o[t ^ 1]; o[128 + t] = v; }
K shuffle_between(const float* a, float* o) { START v = __shfl_xor_sync(~0u, v, 1); o[128 + t] = o[t ^ 1] + v; }
K own_read(const float* a, float* o) { START v = o[t]; o[t] = v + 1; o[128 + t] = o[t]; }
K overtakes_readers(const float* a, float* o) { START __syncthreads(); v = o[t ^ 32]; o[t] = v; }
K overtakes_readers_synced(const float* a, float* o) { START __syncthreads(); v = o[t ^ 32]; __syncthreads(); o[t] = v; }
K overtakes_lanes(const float* a, float* o) { START __syncthreads(); v = o[t ^ 1]; o[t] = v; }
K all_read_one(const float* a, float* o) { START __syncthreads(); v = o[0]; if (t == 64) o[0] = 2; o[128 + t] = v; }
K all_read_one_synced(const float* a, float* o) { START __syncthreads(); v = o[0]; __syncthreads(); if (t == 64) o[0] = 2; o[128 + t] = v; }
K two_write(const float* a, float* o) { START if (t % 32 == 0) o[128] = t; }
K two_write_synced(const float* a, float* o) { START for (int w = 0; w < 4; ++w) { if (t == 32 * w) o[128] = t; __syncthreads(); } }
K lanes_write(const float* a, float* o) { START if (t % 32 == 0) o[128 + t / 32] = 1; if (t % 32 == 1) o[128 + t / 32] = 2; }
K lanes_write_the_same(const float* a, float* o) { START if (t % 32 == 0) o[128 + t / 32] = 1; if (t % 32 == 1) o[128 + t / 32] = 1; }
K warps_write_the_same(const float* a, float* o) { START o[128 + t % 32] = a[t % 32]; }
K warps_write_their_own(const float* a, float* o) { START o[128 + t % 32] = t / 32; }
K one_reads_what_all_write(const float* a, float* o) { START o[128 + t % 32] = a[t % 32]; o[256 + t] = o[128 + (t + 1) % 32]; }
K all_lanes_write_alike(const float* a, float* o) { START if (t < 32) o[128] = 1; }
K bytes_apart(const float* a, float* o) { START ((unsigned char*)(o + 128))[t] = t; }
K bytes_of_others(const float* a, float* o) { START ((unsigned char*)(o + 128))[t] = t; v = ((unsigned char*)(o + 128))[t ^ 1]; o[t] = v; }
K halves_apart(const float* a, float* o) { START ((short*)(o + 128))[t] = t; ((short*)(o + 128))[t] += 1; }
K word_over_bytes(const float* a, float* o) { START ((unsigned char*)(o + 128))[t] = t; if (t % 4 == 0) ((int*)(o + 128))[t / 4] = 1; }
K fours(const float* a, float* o) { const int t = threadIdx.x; ((float4*)o)[t] = ((const float4*)a)[t]; __syncthreads(); o[t] = 1; }
K fours_unsynced(const float* a, float* o) { const int t = threadIdx.x; ((float4*)o)[t] = ((const float4*)a)[t]; o[t] = 2; }
K fours_read_after(const float* a, float* o) { START __syncthreads(); if (t < 32) { float4 f = ((float4*)o)[t]; ((float4*)o)[t] = make_float4(f.y, f.x, f.w, f.z); } }
K fours_read_by_others(const float* a, float* o) { START __syncthreads(); if (t < 32) { float4 f = ((float4*)o)[t]; v = f.x + f.w; } else if (t < 64) o[t] = 1; o[128 + t] = v; }
K sums_and_reads(const float* a, float* o) { START if (t == 0) o[128] = 0; __syncthreads(); atomicAdd(o + 128, a[t]); v = o[128]; o[256 + t] = v; }
K sums_and_reads_synced(const float* a, float* o) { START if (t == 0) o[128] = 0; __syncthreads(); atomicAdd(o + 128, a[t]); __syncthreads(); v = o[128]; o[256 + t] = v; }
K clears_late(const float* a, float* o) { START if (t == 127) o[128] = 0; atomicAdd(o + 128, 1); }
K polls(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) *n = 0; __syncthreads(); if (t % 32 == 0) atomicAdd((int*)n, 1); while (*n < 4) { } }
K lane_polls_store(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) *n = 1; while (*n < 1) { } }
K lane_polls_store_synced(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) *n = 1; __syncwarp(); while (*n < 1) { } }
K lane_stores_over_atomic(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) atomicExch((int*)n, 1); if (t == 1) *n = 2; }
K lane_adds_to_store(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) *n = 2; if (t == 1) atomicAdd((int*)n, 1); }
K warp_polls_store(const float* a, float* o) { START volatile int* n = (int*)(o + 128); if (t == 0) *n = 1; if (t >= 32) while (*n < 1) { } }
K volatile_tree(const float* a, float* o) { START volatile float* s = o + 128; s[t] = v; for (int h = 16; h > 0; h /= 2) if (t % 32 < h) s[t] += s[t + h]; }
K volatile_tree_synced(const float* a, float* o) { START volatile float* s = o + 128; s[t] = v; __syncwarp(); for (int h = 16; h > 0; h /= 2) { if (t % 32 < h) v = s[t] + s[t + h]; __syncwarp(); if (t % 32 < h) s[t] = v; __syncwarp(); } }
K copied_in(const float* a, float* o) { __shared__ __align__(16) float s[128]; START __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" ::"r"(sm(s + t)), "l"(o + (t ^ 32)) : "memory"); o[128 + t] = s[t]; }
K copied_in_unsynced(const float* a, float* o) { __shared__ __align__(16) float s[128]; START
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" ::"r"(sm(s + t)), "l"(o + (t ^ 32)) : "memory"); o[128 + t] = s[t]; }
K bulk_in(const float* a, float* o) { __shared__ __align__(128) float s[128]; __shared__ __align__(8) u64 full; START if (t == 0) init(&full, 1);
  FENCE_PROXY; asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads(); if (t == 0) { expect(&full, 512); load(s, o, 512, &full); } wait(&full, 0); o[128 + t] = s[t]; }
K bulk_in_unsynced(const float* a, float* o) { __shared__ __align__(128) float s[128]; __shared__ __align__(8) u64 full; const int t = threadIdx.x; if (t == 0) init(&full, 1); __syncthreads();
  o[t] = a[t]; asm volatile("fence.proxy.async;" ::: "memory"); if (t == 127) { expect(&full, 512); load(s, o, 512, &full); } wait(&full, 0); o[128 + t] = s[t]; }
K tiles(const float* a, float* o) { START __syncwarp(0xffu << t % 32 / 8 * 8); v = o[t ^ 3]; __syncwarp(0xffu << t % 32 / 8 * 8); o[t] = v; }
K tiles_for_another(const float* a, float* o) { START __syncwarp(0xffu << t % 32 / 8 * 8); v = o[t ^ 8]; o[128 + t] = v; }
)";

struct Touching {
  const char* entry;
  const char* code;  // "": fine
};
const Touching touching_rows[] = {
    {"other_warp_reads", "run.race"},
    {"other_warp_reads_synced", ""},
    {"other_warp_reads_in_part", ""},
    {"other_warp_reads_beyond", "run.race"},
    {"other_lane_reads", "run.race"},
    {"other_lane_reads_synced", ""},
    {"shuffle_between", "run.race"},
    {"own_read", ""},
    {"overtakes_readers", "run.race"},
    {"overtakes_readers_synced", ""},
    {"overtakes_lanes", "run.race"},
    {"all_read_one", "run.race"},
    {"all_read_one_synced", ""},
    {"two_write", "run.race"},
    {"two_write_synced", ""},
    {"lanes_write", "run.race"},
    {"lanes_write_the_same", ""},
    {"warps_write_the_same", ""},
    {"warps_write_their_own", "run.race"},
    {"one_reads_what_all_write", "run.race"},
    {"all_lanes_write_alike", ""},
    {"bytes_apart", ""},
    {"bytes_of_others", "run.race"},
    {"halves_apart", ""},
    {"word_over_bytes", "run.race"},
    {"fours", ""},
    {"fours_unsynced", "run.race"},
    {"fours_read_after", ""},
    {"fours_read_by_others", "run.race"},
    {"sums_and_reads", "run.race"},
    {"sums_and_reads_synced", ""},
    {"clears_late", "run.race"},
    {"polls", ""},
    {"lane_polls_store", "run.race"},
    {"lane_polls_store_synced", ""},
    {"lane_stores_over_atomic", ""},
    {"lane_adds_to_store", ""},
    {"warp_polls_store", ""},
    {"volatile_tree", "run.race"},
    {"volatile_tree_synced", ""},
    {"copied_in", ""},
    {"copied_in_unsynced", "run.race"},
    {"bulk_in", ""},
    {"bulk_in_unsynced", "run.race"},
    {"tiles", ""},
    {"tiles_for_another", "run.race"},
};

}  // namespace

TEST_CASE("threads of a block that touch the same global bytes must be ordered when one writes",
          "[order]") {
  for (const Touching& row : touching_rows) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      Device d;
      const auto ia = d.input("a", std::vector<float>(512, 1.0f)), io = d.output("o", 2048);
      d.memory.mark_written(io);
      d.options.seed = seed;
      d.options.late = seed == 1;
      d.options.instruction_budget = 1'000'000;
      const auto report = d.run(module_of_cuda(touching), row.entry, {1}, {128}, 0, P{ia}, P{io});
      CAPTURE(row.entry, seed, faults_of(report));
      CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
    }
  }
}

TEST_CASE("blocks and launches that follow know nothing of what threads touched before",
          "[order]") {
  const auto module = module_of_cuda(touching);
  Device d;
  const auto ia = d.input("a", std::vector<float>(512, 1.0f)), io = d.output("o", 2048);
  d.memory.mark_written(io);
  for (int launch = 0; launch < 40; ++launch) {
    const char* entry = launch % 16 == 0 ? "overtakes_readers_synced" : "fours";
    const auto report = d.run(module, entry, {1}, {launch % 3 == 0 ? 64u : 128u}, 0, P{ia}, P{io});
    CAPTURE(launch, faults_of(report));
    CHECK(report.faults.empty());
  }
}

TEST_CASE("a race in global memory names the bytes, both threads and the line", "[order]") {
  Device d;
  const auto ia = d.input("a", std::vector<float>(512, 1.0f)), io = d.output("o", 2048);
  d.memory.mark_written(io);
  const auto report =
      d.run(module_of_cuda(touching), "other_warp_reads", {1}, {128}, 0, P{ia}, P{io});
  REQUIRE(!report.faults.empty());
  const ptx::Fault& fault = report.faults[0];
  CAPTURE(faults_of(report));
  CHECK(fault.message.find("writes o at offset 128 ") == 0);
  CHECK(fault.message.find("(address 0x") != std::string::npos);
  CHECK(fault.message.find("that thread (0,0,0) read without a barrier") != std::string::npos);
  CHECK(fault.where.find("ptx line ") != std::string::npos);
}
