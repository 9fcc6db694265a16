// Who must be ordered after whom: kernels of a line, each right or with one order missing.
#include <span>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string kernels = R"(
#define K extern "C" __global__ void
#define START __shared__ float s[128]; const int t = threadIdx.x; s[t] = a[t]; __syncthreads(); float v = 0;
K other_lane_read(const float* a, float* o) { START v = s[t ^ 1]; s[t] = v + 1; o[t] = v; }
K other_lane_read_synced(const float* a, float* o) { START v = s[t ^ 1]; __syncwarp(); s[t] = v + 1; o[t] = v; }
K own_read(const float* a, float* o) { START v = s[t]; s[t] = v + 1; o[t] = s[t]; }
K all_lanes_read(const float* a, float* o) { START v = s[t / 32 * 32]; if (t % 32 == 0) s[t] = v + 1; o[t] = v; }
K all_lanes_read_synced(const float* a, float* o) { START v = s[t / 32 * 32]; __syncwarp(); if (t % 32 == 0) s[t] = v + 1; o[t] = v; }
K shuffle_between(const float* a, float* o) { START v = s[t ^ 1]; v += __shfl_xor_sync(~0u, v, 1); s[t] = v; o[t] = v; }
K vote_between(const float* a, float* o) { START v = s[t ^ 1]; v += __any_sync(~0u, v > 3); s[t] = v; o[t] = v; }
K atomic_after_read(const float* a, float* o) { START v = s[t ^ 1]; atomicAdd(s + t, 1.0f); o[t] = v; }
K atomics_alone(const float* a, float* o) { START atomicAdd(s + t % 4, 1.0f); atomicAdd(s + 3 - t % 4, 1.0f); __syncthreads(); o[t] = s[t]; }
K halves_in_turn(const float* a, float* o) { START if (t % 32 < 16) v = s[t + 16]; else s[t] = 1; o[t] = v; }
K loop_without_end(const float* a, float* o) { START for (int i = 0; i < 4; ++i) { s[t] = a[t] + i; __syncwarp(); v += s[t ^ 3]; } o[t] = v; }
K loop_with_end(const float* a, float* o) { START for (int i = 0; i < 4; ++i) { s[t] = a[t] + i; __syncwarp(); v += s[t ^ 3]; __syncwarp(); } o[t] = v; }
K matrix_rows_read(const float* a, float* o) {
  START unsigned r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(s + t % 8 * 4)));
  if (t == 0) s[0] = 1; o[t] = r; }
K last_warp_writes(const float* a, float* o) { START v = s[0]; if (t == 127) s[0] = v + 1; o[t] = v; }
K last_warp_writes_synced(const float* a, float* o) { START v = s[0]; __syncthreads(); if (t == 127) s[0] = v + 1; o[t] = v; }
K warp_barrier_for_block(const float* a, float* o) { START v = s[0]; __syncwarp(); if (t == 127) s[0] = v + 1; o[t] = v; }
K half_of_warps_meet(const float* a, float* o) { START v = s[0]; if (t < 64) asm volatile("bar.sync 1, 64;"); if (t == 0) s[0] = v + 1; o[t] = v; }
#define MEET asm volatile("bar.sync 1;" ::: "memory");
K met_at_two_places(const float* a, float* o) { START if (t < 64) { s[t] = 1; MEET v = s[t ^ 64]; } else { s[t] = 2; MEET o[t] = s[t ^ 64]; } o[t] = v; }
K met_once_too_rarely(const float* a, float* o) { START if (t < 64) MEET s[t] = 2; MEET o[t] = s[t ^ 64]; if (t >= 64) MEET }
#define EIGHT (0xffu << t % 32 / 8 * 8)
#define HALF (0xffffu << t % 32 / 16 * 16)
K tiles_synced(const float* a, float* o) { START s[t] = v; __syncwarp(EIGHT); v = s[t ^ 3]; __syncwarp(EIGHT); s[t] = v; o[t] = v; }
K tiles_unsynced_before_write(const float* a, float* o) { START s[t] = v; __syncwarp(EIGHT); v = s[t ^ 3]; s[t] = v; o[t] = v; }
K tiles_synced_for_another(const float* a, float* o) { START s[t] = 2; __syncwarp(EIGHT); o[t] = s[t ^ 8]; }
K tiles_synced_then_warp(const float* a, float* o) { START s[t] = 2; __syncwarp(EIGHT); v = s[t ^ 1]; __syncwarp(); s[t ^ 8] = v; o[t] = v; }
K tile_reads_one(const float* a, float* o) { START v = s[t / 8 * 8]; __syncwarp(EIGHT); if (t % 8 == 3) s[t / 8 * 8] = v + 1; o[t] = v; }
K tile_reads_anothers(const float* a, float* o) { START v = s[t / 16 * 16]; __syncwarp(EIGHT); if (t % 16 == 0) s[t] = v + 1; o[t] = v; }
K tiles_grow(const float* a, float* o) { START s[t] = 2; __syncwarp(EIGHT); __syncwarp(HALF); v = s[t ^ 8]; __syncwarp(HALF); s[t] = v; o[t] = v; }
K tiles_grow_in_part(const float* a, float* o) {
  START s[t] = 2; __syncwarp(EIGHT); const unsigned m = 0x00010001u << t % 16; if (t % 8 == 0) __syncwarp(m); o[t] = s[t % 8 == 0 ? (t + 16) % 32 + 3 : t]; }
K tiles_shrink(const float* a, float* o) { START v = s[t / 16 * 16]; __syncwarp(HALF); v += s[t / 16 * 16 + (t & 8)]; __syncwarp(EIGHT); if (t % 16 == 1) s[t - 1] = v; o[t] = v; }
K side_synced(const float* a, float* o) { START if (t % 32 < 16) { s[t] = 2; __syncwarp(0xffffu); v = s[t ^ 1]; } o[t] = v; }
K side_synced_for_other(const float* a, float* o) { START if (t % 32 < 16) { s[t] = 2; __syncwarp(0xffffu); } o[t] = s[t ^ 16]; }
K side_synced_by_others(const float* a, float* o) { START s[t] = 2; if (t % 32 < 16) { __syncwarp(0xffffu); v = s[t ^ 16]; } o[t] = v; }
K matrix_rows_read_tiles_synced(const float* a, float* o) {
  START unsigned r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(s + t % 8 * 4)));
  __syncwarp(EIGHT); if (t == 0) s[0] = 1; o[t] = r; }
K flag_by_volatile(const float* a, float* o) {
  START __shared__ volatile int flag; if (t == 0) flag = 0; __syncthreads();
  if (t == 0) flag = 1; else if (t >= 32) while (flag == 0) { } o[t] = v; }
)";

// Copies, groups and waits of each thread by itself. `s` by lane as the copy's thread, `r` a second
// stretch.
const std::string copying = R"(
#define K extern "C" __global__ void
#define START __shared__ float s[128], r[128]; const int t = threadIdx.x, odd = t & 1;
#define COPY(TO) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(TO + t)), "l"(a + t) : "memory");
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory");
#define WAIT(N) asm volatile("cp.async.wait_group " #N ";" ::: "memory");
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory");
#define READ(FROM) __syncthreads(); o[t] = FROM[t ^ 1];
K all_wait(const float* a, float* o) { START COPY(s) COMMIT WAIT(0) READ(s) }
K even_wait(const float* a, float* o) { START COPY(s) COMMIT if (!odd) { WAIT(0) } READ(s) }
K even_wait_and_are_read(const float* a, float* o) { START COPY(s) COMMIT if (!odd) { WAIT(0) } __syncthreads(); o[t] = s[t & ~1]; }
K each_half_waits(const float* a, float* o) { START COPY(s) COMMIT if (!odd) { WAIT(0) } else { WAIT_ALL } READ(s) }
K even_wait_all(const float* a, float* o) { START COPY(s) if (!odd) { WAIT_ALL } READ(s) }
K open_waited(const float* a, float* o) { START COPY(s) WAIT_ALL READ(s) }
K even_commit(const float* a, float* o) { START COPY(s) if (!odd) { COMMIT } WAIT(0) READ(s) }
K each_half_commits(const float* a, float* o) { START COPY(s) if (!odd) { COMMIT } else { COMMIT } WAIT(0) READ(s) }
K odd_commit_one_more(const float* a, float* o) { START COPY(s) COMMIT if (odd) { COMMIT } WAIT(1) READ(s) }
K odd_commit_one_more_and_are_read(const float* a, float* o) { START COPY(s) COMMIT if (odd) { COMMIT } WAIT(1) __syncthreads(); o[t] = s[t | 1]; }
K odd_commit_one_more_all_waited(const float* a, float* o) { START COPY(s) COMMIT if (odd) { COMMIT } WAIT(0) READ(s) }
K odd_have_two_groups(const float* a, float* o) { START COPY(s) COMMIT if (odd) { COPY(r) COMMIT } WAIT(1) __syncthreads(); o[t] = s[t | 1]; }
K odd_have_two_groups_older_of_even(const float* a, float* o) { START COPY(s) COMMIT if (odd) { COPY(r) COMMIT } WAIT(1) __syncthreads(); o[t] = s[t & ~1]; }
K later_of_two_read(const float* a, float* o) { START COPY(s) COMMIT COPY(r) COMMIT if (odd) { WAIT(0) } else { WAIT(1) } __syncthreads(); o[t] = s[t ^ 1] + r[t | 1]; }
K later_of_two_read_of_all(const float* a, float* o) { START COPY(s) COMMIT COPY(r) COMMIT if (odd) { WAIT(0) } else { WAIT(1) } READ(r) }
K second_wait_takes_the_rest(const float* a, float* o) { START COPY(s) COMMIT COPY(r) COMMIT if (odd) { WAIT(1) } WAIT(0) READ(r) }
K others_have_left(const float* a, float* o) { START COPY(s) COMMIT if (odd) return; COPY(r) COMMIT WAIT(1) o[t] = s[t]; WAIT(0) o[t + 1] = r[t]; }
K others_left_open(const float* a, float* o) { START COPY(s) COMMIT if (odd) return; WAIT(0) o[t] = s[t + 1]; }
)";

// One lane waits, arrives or fences, and others rely on it.
const std::string elected = async_text + R"(
#define START __shared__ __align__(128) float s[128]; __shared__ __align__(8) u64 full, empty; const int t = threadIdx.x; \
  if (t == 0) { init(&full, 1); init(&empty, 2); } __syncthreads();
#define LOAD START if (t == 0) { expect(&full, 512); load(s, a, 512, &full); }
K one_waits(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); o[t] = s[t]; }
K one_waits_synced(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); __syncwarp(); o[t] = s[t]; }
K one_waits_block_synced(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); __syncthreads(); o[t] = s[t]; }
K all_wait(const float* a, float* o) { LOAD wait(&full, 0); o[t] = s[t]; }
K one_waits_and_reads(const float* a, float* o) { LOAD if (t == 0) { wait(&full, 0); o[0] = s[5]; } }
K one_waits_late_write(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); s[t] = 1; o[t] = 1; }
K one_arrives(const float* a, float* o) { START if (t < 32) { s[t] = a[t]; if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[t - 32]; } }
K one_arrives_synced(const float* a, float* o) { START if (t < 32) { s[t] = a[t]; __syncwarp(); if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[t - 32]; } }
K one_arrives_for_itself(const float* a, float* o) { START if (t < 32) { s[t] = a[t]; if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[0]; } }
K tile_arrives(const float* a, float* o) { START if (t < 32) { s[t] = a[t]; __syncwarp(0xffu << t / 8 * 8); if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[t % 8]; } }
K tile_arrives_for_warp(const float* a, float* o) { START if (t < 32) { s[t] = a[t]; __syncwarp(0xffu << t / 8 * 8); if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[t - 32]; } }
K tile_arrives_too_early(const float* a, float* o) { START if (t < 32) { __syncwarp(0xffu << t / 8 * 8); s[t] = a[t]; if (t == 0) arrive(&full); } else { wait(&full, 0); o[t] = s[t % 8]; } }
K one_waits_tile_synced(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); __syncwarp(0xffu << t / 8 * 8); if (t < 8) o[t] = s[t]; }
K one_waits_other_tile_synced(const float* a, float* o) { LOAD if (t == 0) wait(&full, 0); __syncwarp(0xffu << t / 8 * 8); o[t] = s[t]; }
K tile_fences(const float* a, float* o) { START if (t < 8) { s[t] = a[t]; __syncwarp(0xffu); if (t == 0) { FENCE_PROXY; store(o, s, 32); commit(); wait_groups(); } } }
K tile_fences_for_warp(const float* a, float* o) { START s[t] = a[t]; __syncwarp(0xffu << t / 8 * 8); if (t == 0) { FENCE_PROXY; store(o, s, 128); commit(); wait_groups(); } }
K tile_loads(const float* a, float* o) { START if (t < 8) { s[t] = 1; __syncwarp(0xffu); o[t] = s[t ^ 1] + s[0]; FENCE_PROXY; __syncwarp(0xffu); if (t == 0) { expect(&full, 32); load(s, a, 32, &full); } } }
K readers_leave_by_one(const float* a, float* o) {
  START float v = 0; s[t] = a[t]; s[t + 32] = 2; __syncthreads();
  if (t >= 32) { v = s[t ^ 1]; if (t % 32 == 0) arrive(&empty); } else { wait(&empty, 0); s[32 + t] = 1; } o[t] = v; }
K readers_leave_synced(const float* a, float* o) {
  START float v = 0; s[t] = a[t]; __syncthreads();
  if (t >= 32) { v = s[t ^ 1]; __syncwarp(); if (t % 32 == 0) arrive(&empty); } else { wait(&empty, 0); s[32 + t] = 1; } o[t] = v; }
K both_read_one_leaves_early(const float* a, float* o) {
  START float v = 0; s[t] = a[t]; __syncthreads();
  if (t >= 32) { v = s[0] + s[1]; if (t % 32 == 0) arrive(&empty); } else { wait(&empty, 0); if (t < 2) s[t] = 1; } o[t] = v; }
#define HEARD_BACK(SYNC) START float v = 0; s[t] = a[t]; __syncthreads(); if (t < 32) { v = s[t ^ 1]; if (t == 0) arrive(&full); wait(&empty, 0); SYNC s[t] = v; } \
  else { wait(&full, 0); if (t < 34) arrive(&empty); } o[t] = v;
K one_hears_back(const float* a, float* o) { HEARD_BACK() }
K one_hears_back_synced(const float* a, float* o) { HEARD_BACK(__syncwarp();) }
K fence_before_sync(const float* a, float* o) { START s[t] = a[t]; if (t == 0) FENCE_PROXY; __syncwarp(); if (t == 0) { store(o, s, 128); commit(); wait_groups(); } }
K fence_after_sync(const float* a, float* o) { START s[t] = a[t]; __syncwarp(); if (t == 0) { FENCE_PROXY; store(o, s, 128); commit(); wait_groups(); } }
K all_fence(const float* a, float* o) { START s[t] = a[t]; FENCE_PROXY; __syncwarp(); if (t == 0) { store(o, s, 128); commit(); wait_groups(); } }
K writers_fence(const float* a, float* o) { START if (t < 4) { s[t] = a[t]; FENCE_PROXY; } else s[t] = 0; __syncwarp(); if (t == 0) { store(o, s, 16); commit(); wait_groups(); } }
K store_unwaited(const float* a, float* o) { START s[t] = a[t]; FENCE_PROXY; __syncwarp(); if (t == 0) { store(o, s, 128); commit(); } __syncwarp(); s[t] = 1; wait_groups(); }
K store_read_by_one(const float* a, float* o) { START s[t] = a[t]; FENCE_PROXY; __syncwarp(); if (t == 0) { store(o, s, 128); commit(); wait_read(); } s[t] = 1; wait_groups(); }
K store_read_by_one_synced(const float* a, float* o) { START s[t] = a[t]; FENCE_PROXY; __syncwarp(); if (t == 0) { store(o, s, 128); commit(); wait_read(); } __syncwarp(); s[t] = 1; wait_groups(); }
)";

// The asynchronous proxy reads global memory that the launch wrote.
const char* const start =
    R"(#define START __shared__ __align__(128) float s[128]; __shared__ __align__(8) u64 full; const int t = threadIdx.x; \
  if (t == 0) init(&full, 1); __syncthreads();
)";
const std::string unfenced = async_text + start + R"(
K loads_what_it_wrote(const float* a, float* o) { START o[t] = a[t]; __syncthreads(); if (t == 0) { expect(&full, 512); load(s, o, 512, &full); } wait(&full, 0); o[t] = s[t]; }
)";
const std::string fenced = async_text + start + R"(
K loads_what_it_wrote(const float* a, float* o) { START o[t] = a[t]; asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads(); if (t == 0) { expect(&full, 512); load(s, o, 512, &full); } wait(&full, 0); o[t] = s[t]; }
)";

struct Row {
  const char* entry;
  unsigned threads;
  const char* code;  // "": fine
};
const Row rows[] = {
    {"other_lane_read", 32, "run.race"},
    {"other_lane_read_synced", 128, ""},
    {"own_read", 128, ""},
    {"all_lanes_read", 128, "run.race"},
    {"all_lanes_read_synced", 128, ""},
    {"shuffle_between", 32, "run.race"},
    {"vote_between", 32, "run.race"},
    {"atomic_after_read", 32, "run.race"},
    {"atomics_alone", 128, ""},
    {"halves_in_turn", 32, "run.race"},
    {"loop_without_end", 32, "run.race"},
    {"loop_with_end", 128, ""},
    {"matrix_rows_read", 32, "run.race"},
    {"last_warp_writes", 128, "run.race"},
    {"last_warp_writes_synced", 128, ""},
    {"warp_barrier_for_block", 128, "run.race"},
    {"half_of_warps_meet", 128, "run.race"},
    {"met_at_two_places", 128, ""},
    {"met_once_too_rarely", 128, "run.race"},
    {"tiles_synced", 128, ""},
    {"tiles_unsynced_before_write", 32, "run.race"},
    {"tiles_synced_for_another", 32, "run.race"},
    {"tiles_synced_then_warp", 128, ""},
    {"tile_reads_one", 128, ""},
    {"tile_reads_anothers", 32, "run.race"},
    {"tiles_grow", 128, ""},
    {"tiles_grow_in_part", 32, ""},
    {"tiles_shrink", 128, ""},
    {"side_synced", 128, ""},
    {"side_synced_for_other", 32, "run.race"},
    {"side_synced_by_others", 32, "run.race"},
    {"matrix_rows_read_tiles_synced", 32, "run.race"},
    {"flag_by_volatile", 128, ""},
};

const Row copying_rows[] = {
    {"all_wait", 128, ""},
    {"even_wait", 32, "run.race"},
    {"even_wait_and_are_read", 32, ""},
    {"each_half_waits", 128, ""},
    {"even_wait_all", 32, "run.race"},
    {"open_waited", 128, ""},
    {"even_commit", 32, "run.race"},
    {"each_half_commits", 128, ""},
    {"odd_commit_one_more", 32, "run.race"},
    {"odd_commit_one_more_and_are_read", 32, ""},
    {"odd_commit_one_more_all_waited", 128, ""},
    {"odd_have_two_groups", 32, ""},
    {"odd_have_two_groups_older_of_even", 32, "run.race"},
    {"later_of_two_read", 128, ""},
    {"later_of_two_read_of_all", 32, "run.race"},
    {"second_wait_takes_the_rest", 128, ""},
    {"others_have_left", 32, ""},
    {"others_left_open", 32, "run.race"},
};

const Row elected_rows[] = {
    {"one_waits", 32, "run.race"},
    {"one_waits_synced", 32, ""},
    {"one_waits_block_synced", 128, ""},
    {"all_wait", 128, ""},
    {"one_waits_and_reads", 32, ""},
    {"one_waits_late_write", 32, "run.race"},
    {"one_arrives", 64, "run.race"},
    {"one_arrives_synced", 64, ""},
    {"one_arrives_for_itself", 64, ""},
    {"tile_arrives", 64, ""},
    {"tile_arrives_for_warp", 64, "run.race"},
    {"tile_arrives_too_early", 64, "run.race"},
    {"one_hears_back", 64, "run.race"},
    {"one_hears_back_synced", 64, ""},
    {"one_waits_tile_synced", 32, ""},
    {"one_waits_other_tile_synced", 32, "run.race"},
    {"tile_fences", 32, ""},
    {"tile_loads", 32, ""},
    {"tile_fences_for_warp", 32, "run.race"},
    {"readers_leave_by_one", 96, "run.race"},
    {"readers_leave_synced", 96, ""},
    {"both_read_one_leaves_early", 96, "run.race"},
    {"fence_before_sync", 32, "run.race"},
    {"fence_after_sync", 32, ""},
    {"all_fence", 32, ""},
    {"writers_fence", 32, ""},
    {"store_unwaited", 32, "run.race"},
    {"store_read_by_one", 32, "run.race"},
    {"store_read_by_one_synced", 32, ""},
};

void expect_codes(const std::string& text, std::span<const Row> rows) {
  for (const Row& row : rows) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      Device d;
      const auto ia = d.input("a", std::vector<float>(128, 1.0f)), io = d.output("o", 512);
      d.options.seed = seed;
      d.options.late = seed == 1;
      d.options.instruction_budget = 1'000'000;
      const auto report =
          d.run(module_of_cuda(text), row.entry, {1}, {row.threads}, 0, P{ia}, P{io});
      CAPTURE(row.entry, seed, faults_of(report));
      CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
    }
  }
}

}  // namespace

TEST_CASE("a write to shared memory comes after all reads by others, in any order of warps",
          "[order]") {
  expect_codes(kernels, rows);
}

TEST_CASE("what one lane waits for, tells or fences holds for the others once they are ordered",
          "[order]") {
  expect_codes(elected, elected_rows);
}

TEST_CASE("a thread commits and waits for its own copies alone", "[order]") {
  expect_codes(copying, copying_rows);
}

TEST_CASE("a bulk copy reads what its launch wrote only past a proxy fence", "[order]") {
  const Row without[] = {{"loads_what_it_wrote", 128, "run.race"}},
            with[] = {{"loads_what_it_wrote", 128, ""}};
  expect_codes(unfenced, without);
  expect_codes(fenced, with);
}
