// Blocks spread over host threads: whatever their number, the same results, counts and faults.
#include <algorithm>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "support/threads_begun.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string kernels = R"(
#define K extern "C" __global__ void
#define I const int i = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.x; (void)b;
__device__ float table[64];
K apart(const float* a, float* o, int n) { I __shared__ float s[64]; s[threadIdx.x] = a[i]; __syncthreads(); o[i] = s[63 - threadIdx.x] * b; }
K in_place(const float* a, float* o, int n) { I o[i] = a[i]; o[i] = o[i] * 2 + 1; }
K bytes_of_a_word(const float* a, float* o, int n) { I if (threadIdx.x == 0) ((unsigned char*)o)[b] = (unsigned char)b; o[n / 2 + i] = a[i]; }
K all_add(const float* a, float* o, int n) { I if (b == 0 && i == 0) o[0] = 0; __threadfence(); atomicAdd(o + 1 + i % 7, a[i]); o[64 + i] = a[i]; }
K one_word(const float* a, float* o, int n) { I o[i] = a[i]; if (threadIdx.x == 0) o[n] = b; }
K reads_before(const float* a, float* o, int n) { I o[i] = b > 0 ? o[i - 64] + 1 : a[i]; }
K reads_behind(const float* a, float* o, int n) { I o[n + i] = o[(i + 64) % n]; o[i] = a[i]; }
K reads_behind_fenced(const float* a, float* o, int n) { I __threadfence(); o[n + i] = o[(i + 64) % n]; o[i] = a[i]; }
K in_a_variable(const float* a, float* o, int n) { I table[threadIdx.x] = a[i]; o[i] = table[63 - threadIdx.x]; }
K last_block_traps(const float* a, float* o, int n) { I o[i] = a[i]; if (b % 16 == 15 && a[i] >= 0) o[4 * n + i] = 0; }
K endless(const float* a, float* o, int n) { I volatile int x = n; while (b == 40 && x > 0) { } o[i] = a[i]; }
K waits(const float* a, float* o, int n) { I if (b == 63) *(volatile float*)(o + n) = 1; else while (*(volatile float*)(o + n) != 1) { } o[i] = a[i]; }
)";
const char* const entries[] = {
    "apart",         "in_place",         "bytes_of_a_word", "all_add",
    "one_word",      "reads_before",     "reads_behind",    "reads_behind_fenced",
    "in_a_variable", "last_block_traps", "endless",         "waits"};

struct Outcome {
  std::string faults, dependence;
  std::vector<std::uint32_t> bits;
  std::vector<double> counts;
  std::vector<std::uint64_t> lines;
  bool independent = false;
  std::uint64_t instructions = 0, blocks = 0;
  bool operator==(const Outcome&) const = default;
};

constexpr std::uint32_t grid = 64, block = 64, n = grid * block;

Outcome outcome(const char* entry, std::uint32_t threads, std::uint64_t seed) {
  Device d;
  std::vector<float> a(n);
  for (std::uint32_t i = 0; i < n; ++i) a[i] = static_cast<float>(i % 97) / 8;
  const auto ia = d.input("a", a), io = d.output("o", 8 * n);
  d.memory.mark_written(io);
  d.options.threads = threads;
  d.options.seed = seed;
  d.options.resident = 1000;
  d.options.instruction_budget = 400'000;
  const ptx::Report r =
      d.run(module_of_cuda(kernels), entry, {grid}, {block}, 0, P{ia}, P{io}, int{n});
  Outcome out{faults_of(r),  r.dependence,        {},          {}, {},
              r.independent, r.warp_instructions, r.blocks_run};
  for (std::size_t c = 0; c < cupilot::counter_count; ++c)
    out.counts.push_back(r.counts[static_cast<cupilot::Counter>(c)].value);
  for (const ptx::LineCount& line : r.lines)
    out.lines.insert(out.lines.end(), {line.instruction, line.warps, line.threads});
  // What stands in memory after a fault depends on when the launch ended.
  if (r.faults.empty()) out.bits = d.values<std::uint32_t>(io);
  return out;
}

}  // namespace

TEST_CASE("a launch is spread over the threads that the machine gives", "[threads]") {
  const Outcome alone = outcome("apart", 1, 1);
  for (const long given : {0, 2}) {
    const cupilot::testing::ThreadLimit limit(given);
    CHECK(outcome("apart", 8, 1) == alone);
  }
}

TEST_CASE("no number of threads changes what a launch gives", "[spread][threads]") {
  for (const char* entry : entries) {
    for (const std::uint64_t seed : {0, 5}) {
      const Outcome one = outcome(entry, 1, seed);
      for (const std::uint32_t threads : {2u, 7u}) {
        CAPTURE(entry, seed, threads, one.faults);
        const bool equal = outcome(entry, threads, seed) == one;
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("blocks that keep apart are run by several threads, others by one", "[spread][threads]") {
  const auto threads = [](const char* entry) {
    Device d;
    const auto ia = d.input("a", std::vector<float>(n, 1.0f)), io = d.output("o", 8 * n);
    d.memory.mark_written(io);
    d.options.threads = 4;
    return d.run(module_of_cuda(kernels), entry, {grid}, {block}, 0, P{ia}, P{io}, int{n}).threads;
  };
  for (const char* entry : {"apart", "in_place"}) CHECK(threads(entry) == 4);
  for (const char* entry :
       {"all_add", "one_word", "reads_before", "reads_behind", "in_a_variable", "last_block_traps"})
    CHECK(threads(entry) == 1);
}
