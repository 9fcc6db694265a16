// Counts of launches whose work is known from their text: the kernels of `cupilot peaks`.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "backend/wire/counter_metrics.hpp"
#include "hardware.hpp"
#include "launcher.hpp"

namespace counters {
namespace {

using nlohmann::json;

constexpr double most_off = 0.01;
constexpr std::int64_t near_bytes = 1ll << 30;
constexpr int blocks_per_sm = 2, threads = 512;
constexpr double sums =
    8;  // independent sums a thread, products a warp: `together` of kernels/trusted/peaks.cu

struct Known {
  const char* entry;
  Counter counter;
  double (*work)(const Shape&);
  bool far = false, wgmma = false;
  std::int64_t rounds = 1000;
};

// Operands of an mma are K bytes of two-byte elements wide, and so on: as in
// src/backend/cuda/peaks.cpp.
template <int K>
double mma(const Shape& s) {
  return s.launched() / 32 * sums * 2 * 16 * 8 * K;
}
template <int K>
double wgmma(const Shape& s) {
  return s.launched() / 128 * 4 * 2 * 64 * 256 * K;
}
double multiply_adds(const Shape& s) { return s.launched() * 16 * sums * 2; }
double all_bytes(const Shape& s) { return static_cast<double>(s.bytes); }
double half_bytes(const Shape& s) { return static_cast<double>(s.bytes) / 2; }

constexpr Known rows[] = {
    {"multiply_add_fp32", Counter::flops_fp32, multiply_adds},
    {"multiply_add_fp64", Counter::flops_fp64, multiply_adds},
    {"mma_bf16", Counter::ops_tensor_bf16, mma<16>},
    {"mma_fp16", Counter::ops_tensor_fp16, mma<16>},
    {"mma_tf32", Counter::ops_tensor_tf32, mma<8>},
    {"wgmma_tf32", Counter::ops_tensor_tf32, wgmma<8>, false, true},
    {"wgmma_bf16", Counter::ops_tensor_bf16, wgmma<16>, false, true},
    {"wgmma_fp16", Counter::ops_tensor_fp16, wgmma<16>, false, true},
    {"wgmma_fp8", Counter::ops_tensor_fp8, wgmma<32>, false, true},
    {"read_memory", Counter::dram_read_bytes, all_bytes, true, false, 1},
    {"copy_memory", Counter::dram_read_bytes, half_bytes, true, false, 1},
    {"copy_memory", Counter::dram_write_bytes, half_bytes, true, false, 1},
};

Shape shape_of(const Known& row, int sms) {
  Shape shape{row.far ? far_bytes : near_bytes, row.rounds, sms * blocks_per_sm, threads, 0};
  if (row.wgmma) shape = {near_bytes, row.rounds, sms, 256, 227 << 10};
  const std::int64_t together = static_cast<std::int64_t>(shape.blocks) * shape.threads * 256;
  if (row.far) shape.bytes = shape.bytes / together * together;
  return shape;
}

double sum_of(const std::string& chip, Counter counter, const std::vector<std::string>& metrics,
              const std::vector<double>& values) {
  double sum = 0;
  for (const MetricTerm& term : counter_metrics(chip)) {
    if (term.counter != counter) continue;
    sum += term.factor *
           values[static_cast<std::size_t>(std::find(metrics.begin(), metrics.end(), term.metric) -
                                           metrics.begin())];
  }
  return sum;
}

Result<json> count_known(CompilePool& pool) {
  auto image = image_with(pool, "");
  if (!image) return image.error();
  int sms = 0;
  const CUcontext context = take_context(sms);
  Stopwatch watch;
  Result<RangeCounters> ranges = RangeCounters::open(context, 0);
  if (!ranges) return ranges.error();
  const double opened = watch.lap();
  const std::string chip = chip_of(0);
  Launcher launcher(*image);
  json known = json::array(), steps = json::array();
  bool all = true;
  // All counters at each, and those of the leaders between: sets of counters change often in one
  // process.
  const std::vector<std::string> every =
      metrics_of(chip, counters_of(CountDepth::all, Precision::bf16));
  const std::vector<std::string> few =
      metrics_of(chip, counters_of(CountDepth::few, Precision::bf16));
  for (const Known& row : rows) {
    const Shape shape = shape_of(row, sms);
    auto some = counted(*ranges, launcher, row.entry, shape, few, steps);
    if (!some) return some.error();
    auto values = counted(*ranges, launcher, row.entry, shape, every, steps);
    if (!values) return values.error();
    const double expected = row.work(shape), count = sum_of(chip, row.counter, every, *values);
    const bool within = std::abs(count / expected - 1) <= most_off;
    all = all && within;
    known.push_back({{"kernel", row.entry},
                     {"counter", name_of(row.counter)},
                     {"known", expected},
                     {"counted", count},
                     {"ratio", count / expected},
                     {"within_1_percent", within}});
  }
  return json{{"chip", chip},
              {"all_within_1_percent", all},
              {"known", known},
              {"open_s", opened},
              {"steps", steps}};
}

}  // namespace

int check_known(CompilePool& pool, const std::string& path) {
  if (!driver().reason.empty()) {
    std::cerr << driver().reason << "\n";
    return 3;
  }
  try {
    const auto counts = count_known(pool);
    if (!counts) {
      std::cerr << counts.error().message << "\n";
      return 1;
    }
    std::ofstream(path) << counts->dump(1) << "\n";
    for (const json& row : counts->at("known")) std::cerr << row.dump() << "\n";
    return counts->at("all_within_1_percent") ? 0 : 8;
  } catch (const CudaFailure& failure) {
    std::cerr << failure.what << ": " << driver().describe(failure.code) << "\n";
    return 1;
  }
}

}  // namespace counters
