// What warps wait for where the text of a kernel leaves no doubt.
#include <algorithm>
#include <cupilot/verdict.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "backend/wire/counter_metrics.hpp"
#include "hardware.hpp"
#include "launcher.hpp"

namespace counters {
namespace {

using nlohmann::json;

constexpr const char* kernels = R"(
// Each load's address is that of the one before: far apart, so that they go to memory.
extern "C" __global__ void chase_memory(unsigned* memory, long bytes, long rounds) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (long i = 0; i < rounds; ++i) at = at * 1664525u + 1013904223u + memory[at % (unsigned)(bytes / 4)];
  if (at == 0) memory[at] = 1;
}
// One warp works, the others wait for it.
extern "C" __global__ void meet_often(float* memory, long bytes, long rounds) {
  float sum = threadIdx.x;
  for (long i = 0; i < rounds; ++i) {
    if (threadIdx.x < 32) {
      #pragma unroll 1
      for (int k = 0; k < 64; ++k) sum = sum * 0.999f + 1.0f;
    }
    __syncthreads();
  }
  if (sum == 0.5f) memory[0] = sum;
}
// A warp's 32 lanes in one bank, each address that of the load before.
extern "C" __global__ void chase_one_bank(unsigned* memory, long bytes, long rounds) {
  __shared__ unsigned table[32 * 32];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) table[i] = (i + 32) % 1024;
  __syncthreads();
  unsigned at = threadIdx.x % 32 * 32;
  for (long i = 0; i < rounds; ++i) at = table[at];
  if (at == 1) memory[0] = at;
}
)";

struct Row {
  const char* entry;
  std::vector<Stall> expected;  // one of these first; empty: for information
  std::int64_t rounds;
  int blocks_per_sm, threads;
  bool wgmma = false;
};

const std::vector<Row> rows = {
    {"chase_memory", {Stall::long_scoreboard}, 200, 2, 256},
    {"meet_often", {Stall::barrier}, 2000, 1, 1024},
    {"chase_one_bank", {Stall::short_scoreboard, Stall::mio_throttle}, 2000, 2, 256},
    {"read_memory", {Stall::long_scoreboard}, 1, 4, 512},
    {"multiply_add_fp32", {}, 1000, 2, 512},
    {"mma_bf16", {}, 1000, 2, 512},
    {"wgmma_bf16", {}, 1000, 1, 256, true},
    {"read_shared", {}, 1000, 1, 1024},
};

WarpCycles cycles_from(const std::string& chip, const std::vector<std::string>& metrics,
                       const std::vector<double>& values) {
  const auto value_of = [&](std::string_view metric) {
    return values.at(static_cast<std::size_t>(std::find(metrics.begin(), metrics.end(), metric) -
                                              metrics.begin()));
  };
  WarpCycles warps;
  for (const StallMetric& term : stall_metrics(chip)) warps[term.stall] = value_of(term.metric);
  warps.resident = value_of(resident_metric);
  return warps;
}

// What warps wait for most, issuing and being ready left out.
Stall first_wait(const std::vector<StallShare>& shares) {
  for (const StallShare& one : shares) {
    if (one.stall != Stall::selected && one.stall != Stall::not_selected) return one.stall;
  }
  return Stall::count_;
}

json told(const Row& row, const WarpCycles& warps) {
  const std::vector<StallShare> shares = stall_shares(warps);
  double accounted = 0;
  for (const double cycles : warps.spent) accounted += cycles;
  json out{{"kernel", row.entry},
           {"resident_warp_cycles", warps.resident},
           {"accounted", accounted / warps.resident},
           {"sentence", stall_sentence(shares)},
           {"as_expected", true}};
  for (const StallShare& one : shares) out["shares"].push_back({name_of(one.stall), one.share});
  for (const Stall stall : row.expected) out["expected"].push_back(name_of(stall));
  if (row.expected.empty()) return out;
  const Stall first = shares.empty() ? Stall::count_ : first_wait(shares);
  out["as_expected"] =
      std::find(row.expected.begin(), row.expected.end(), first) != row.expected.end();
  return out;
}

Result<json> count_stalls(CompilePool& pool) {
  auto image = image_with(pool, kernels);
  if (!image) return image.error();
  int sms = 0;
  Result<RangeCounters> ranges = RangeCounters::open(take_context(sms), 0);
  if (!ranges) return ranges.error();
  const std::string chip = chip_of(0);
  Launcher launcher(*image);
  const std::vector<std::string> metrics =
      metrics_of(chip, counters_of(CountDepth::all, Precision::bf16));
  json out = json::array(), steps = json::array();
  bool all = true;
  for (const Row& row : rows) {
    const std::int64_t together =
        static_cast<std::int64_t>(sms) * row.blocks_per_sm * row.threads * 256;
    const Shape shape{(1ll << 30) / together * together, row.rounds, sms * row.blocks_per_sm,
                      row.threads, row.wgmma ? 227 << 10 : 0};
    auto values = counted(*ranges, launcher, row.entry, shape, metrics, steps);
    if (!values) return values.error();
    out.push_back(told(row, cycles_from(chip, metrics, *values)));
    all = all && out.back().at("as_expected");
  }
  return json{{"chip", chip}, {"all_as_expected", all}, {"kernels", out}, {"steps", steps}};
}

}  // namespace

int check_stalls(CompilePool& pool, const std::string& path) {
  if (!driver().reason.empty()) {
    std::cerr << driver().reason << "\n";
    return 3;
  }
  try {
    const auto counts = count_stalls(pool);
    if (!counts) {
      std::cerr << counts.error().message << "\n";
      return 1;
    }
    std::ofstream(path) << counts->dump(1) << "\n";
    for (const json& row : counts->at("kernels")) std::cerr << row.dump() << "\n";
    return counts->at("all_as_expected") ? 0 : 8;
  } catch (const CudaFailure& failure) {
    std::cerr << failure.what << ": " << driver().describe(failure.code) << "\n";
    return 1;
  }
}

}  // namespace counters
