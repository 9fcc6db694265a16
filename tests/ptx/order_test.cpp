// Who must be ordered after whom: kernels of a line, each right or with one order missing.
#include "catch.hpp"
#include "ptx/runner.hpp"

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
K flag_by_volatile(const float* a, float* o) {
  START __shared__ volatile int flag; if (t == 0) flag = 0; __syncthreads();
  if (t == 0) flag = 1; else if (t >= 32) while (flag == 0) { } o[t] = v; }
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
    {"flag_by_volatile", 128, ""},
};

}  // namespace

TEST_CASE("a write to shared memory comes after all reads by others, in any order of warps", "[order]") {
  for (const Row& row : rows) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      Device d;
      const auto ia = d.input("a", std::vector<float>(128, 1.0f)), io = d.output("o", 512);
      d.options.seed = seed;
      d.options.instruction_budget = 1'000'000;
      const auto report = d.run(module_of_cuda(kernels), row.entry, {1}, {row.threads}, 0, P{ia}, P{io});
      CAPTURE(row.entry, seed, faults_of(report));
      CHECK((report.faults.empty() ? "" : report.faults[0].code) == row.code);
    }
  }
}
