// Order within a block by fences, acquire and release: one side writes and tells, the other is told
// and reads.
#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

// `flag` and `other` lie in shared memory, or in the output past what is asked for.
const std::string patterns = R"(
#define K extern "C" __global__ void
#define FENCE __threadfence_block();
#define START __shared__ float s[128]; PLACE; const int t = threadIdx.x; volatile int *f = flag, *g = flag + 1; \
  if (t < 2) flag[t] = 0; s[t] = 0; __syncthreads();
#define WRITE(BETWEEN) if (t < 32) { s[t] = a[t]; BETWEEN }
#define TELL if (t == 0) *f = 1;
#define READ(BETWEEN) else { while (*f == 0) { } BETWEEN o[t] = s[t - 32]; }
K both_fence(const float* a, float* o) { START WRITE(__syncwarp(); FENCE TELL) READ(FENCE) }
K fence_then_sync(const float* a, float* o) { START WRITE(FENCE __syncwarp(); TELL) READ(FENCE) }
K writer_does_not(const float* a, float* o) { START WRITE(__syncwarp(); TELL) READ(FENCE) }
K writer_fences_too_early(const float* a, float* o) { START if (t < 32) { FENCE } WRITE(__syncwarp(); TELL) READ(FENCE) }
K reader_does_not(const float* a, float* o) { START WRITE(__syncwarp(); FENCE TELL) READ() }
K reader_fences_too_early(const float* a, float* o) { START WRITE(__syncwarp(); FENCE TELL) else { FENCE while (*f == 0) { } o[t] = s[t - 32]; } }
K lanes_not_ordered(const float* a, float* o) { START WRITE(FENCE TELL) READ(FENCE) }
K lane_tells_of_itself(const float* a, float* o) { START WRITE(FENCE TELL) else { while (*f == 0) { } FENCE o[t] = s[0]; } }
K another_word(const float* a, float* o) { START WRITE(if (t == 0) *g = 1; __syncwarp(); FENCE TELL) else { while (*g == 0) { } FENCE o[t] = s[t - 32]; } }
K written_after_telling(const float* a, float* o) { START WRITE(FENCE TELL __syncwarp(); s[t] = 2;) READ(FENCE) }
K fence_of_block_then_barrier(const float* a, float* o) {
  START if (t < 64) { s[t] = a[t]; FENCE asm volatile("bar.sync 1, 64;" ::: "memory"); TELL } else { while (*f == 0) { } FENCE o[t] = s[t - 64]; } }
K for_a_later_write(const float* a, float* o) { START float v = 0; if (t < 32) { v = s[t + 32]; __syncwarp(); FENCE TELL } else { while (*f == 0) { } FENCE s[t] = 1; } o[t] = v; }
K for_a_later_write_unfenced(const float* a, float* o) { START float v = 0; if (t < 32) { v = s[t + 32]; __syncwarp(); TELL } else { while (*f == 0) { } FENCE s[t] = 1; } o[t] = v; }
K in_two_steps(const float* a, float* o) {
  START if (t < 32) { s[t] = a[t]; __syncwarp(); FENCE TELL } else if (t < 64) { while (*f == 0) { } FENCE if (t == 32) *g = 1; } else { while (*g == 0) { } FENCE o[t] = s[t - 64]; } }
#define BUMP(I) const bool first = t % 32 == 0; s[t] = a[t]; __syncwarp(); int k = 0; I k = __shfl_sync(~0u, k, 0); if (k == blockDim.x / 32 - 1) o[t] = s[t ^ 32] + s[t ^ 1];
K told_by_own_lane(const float* a, float* o) {
  START int v = 0; if (t == 0) atomicOr(flag, 1);
  while (v == 0) asm volatile("ld.acquire.cta.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
  o[t] = v; }
K last_warp(const float* a, float* o) { START BUMP(if (first) { FENCE k = atomicAdd(flag, 1); FENCE } __syncwarp();) }
K last_warp_unfenced(const float* a, float* o) { START BUMP(if (first) k = atomicAdd(flag, 1); __syncwarp();) }
K last_warp_acq_rel(const float* a, float* o) { START BUMP(if (first) asm volatile("atom.acq_rel.cta.add.u32 %0, [%1], 1;" : "=r"(k) : "l"(flag) : "memory"); __syncwarp();) }
K last_warp_only_releases(const float* a, float* o) { START BUMP(if (first) asm volatile("atom.release.cta.add.u32 %0, [%1], 1;" : "=r"(k) : "l"(flag) : "memory"); __syncwarp();) }
K last_warp_asks_alone(const float* a, float* o) { START BUMP(if (first) { FENCE k = atomicAdd(flag, 1); FENCE }) }
K locked(const float* a, float* o) { START if (t % 32 == 0) { while (atomicCAS(flag, 0, 1) != 0) { } FENCE s[0] += a[t]; FENCE atomicExch(flag, 0); } o[t] = 0; }
K locked_unfenced(const float* a, float* o) { START if (t % 32 == 0) { while (atomicCAS(flag, 0, 1) != 0) { } s[0] += a[t]; atomicExch(flag, 0); } o[t] = 0; }
K locked_by_acquire(const float* a, float* o) { START if (t % 32 == 0) { int k = 1;
  while (k != 0) asm volatile("atom.acquire.cta.cas.b32 %0, [%1], 0, 1;" : "=r"(k) : "l"(flag) : "memory");
  s[0] += a[t]; asm volatile("st.release.cta.u32 [%0], 0;" ::"l"(flag) : "memory"); } o[t] = 0; }
K acquired(const float* a, float* o) { START WRITE(__syncwarp(); if (t == 0) asm volatile("st.release.cta.u32 [%0], 1;" ::"l"(flag) : "memory");)
  else { int k = 0; while (k == 0) asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(k) : "l"(flag) : "memory"); o[t] = s[t - 32]; } }
K relaxed(const float* a, float* o) { START WRITE(__syncwarp(); if (t == 0) asm volatile("st.release.cta.u32 [%0], 1;" ::"l"(flag) : "memory");)
  else { int k = 0; while (k == 0) asm volatile("ld.relaxed.cta.u32 %0, [%1];" : "=r"(k) : "l"(flag) : "memory"); o[t] = s[t - 32]; } }
)";

struct Pattern {
  const char* entry;
  unsigned threads;
  const char* code;  // "": fine
};
const Pattern pattern_rows[] = {
    {"both_fence", 64, ""},
    {"fence_then_sync", 64, ""},
    {"writer_does_not", 64, "run.race"},
    {"writer_fences_too_early", 64, "run.race"},
    {"reader_does_not", 64, "run.race"},
    {"reader_fences_too_early", 64, "run.race"},
    {"lanes_not_ordered", 64, "run.race"},
    {"lane_tells_of_itself", 64, ""},
    {"another_word", 64, "run.race"},
    {"written_after_telling", 64, "run.race"},
    {"fence_of_block_then_barrier", 96, ""},
    {"for_a_later_write", 64, ""},
    {"for_a_later_write_unfenced", 64, "run.race"},
    {"in_two_steps", 96, ""},
    {"last_warp", 64, ""},
    {"last_warp_unfenced", 64, "run.race"},
    {"last_warp_acq_rel", 64, ""},
    {"last_warp_only_releases", 64, "run.race"},
    {"last_warp_asks_alone", 64, "run.race"},
    {"locked", 128, ""},
    {"locked_unfenced", 64, "run.race"},
    {"locked_by_acquire", 128, ""},
    {"acquired", 64, ""},
    {"relaxed", 64, "run.race"},
    {"told_by_own_lane", 64, ""},
};

}  // namespace

TEST_CASE("fences, acquire and release order threads of a block as far as PTX has it", "[order]") {
  for (const char* place : {"__shared__ int flag[2]", "int* flag = (int*)o + 128"}) {
    const auto module = module_of_cuda("#define PLACE " + std::string(place) + patterns);
    for (const Pattern& row : pattern_rows) {
      for (const std::uint64_t seed : {0, 1, 2}) {
        Device d;
        const auto ia = d.input("a", std::vector<float>(128, 1.0f)), io = d.output("o", 520);
        d.options.seed = seed;
        d.options.instruction_budget = 1'000'000;
        const auto report = d.run(module, row.entry, {1}, {row.threads}, 0, P{ia}, P{io});
        CAPTURE(place, row.entry, seed, faults_of(report));
        CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
      }
    }
  }
}
