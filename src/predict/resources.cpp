#include "predict/resources.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cupilot {
namespace {

constexpr double least_share = 1.0 / 64;  // share of a time; below it a resource does not matter

constexpr double meeting_us = 2;       // blocks of a cluster, for each doubling
constexpr double request_us = 0.2;     // one load after another, from L2
constexpr double join_us = 3;          // parts of a sum, where no last block was seen
constexpr double most_in_flight = 64;  // loads: beyond, nothing waits for them

constexpr std::array<std::string_view, 41> names = {
    // shares of the modelled time that each resource alone would need
    "issue", "fp32", "fp64", "tensor", "integer", "special", "shared", "l2", "dram", "latency",
    "tail", "launch",
    // the launch that takes longest
    "us", "waves", "a_sm", "resident", "warps", "registers", "shared_bytes", "rounds", "ring",
    "ahead", "in_flight", "stage", "round", "block_loads", "block_stores", "warp_instructions",
    "cluster", "last_block", "joins", "text", "distinct", "launches",
    // kinds of its instructions
    "narrow", "conflicts", "async", "atomics", "barriers", "loads", "eight_bits"};

double octaves(double value) { return std::log2(std::max(value, 1e-9)); }

// log2(1 + part / whole), 0 where there is no whole.
double share(double part, double whole) { return whole > 0 ? std::log2(1 + part / whole) : 0; }

// The launch with the largest modelled time.
const ModelInput& longest(const DeviceSpec& device, const std::vector<ModelInput>& launches) {
  if (launches.size() == 1) return launches.front();
  return *std::max_element(launches.begin(), launches.end(),
                           [&](const ModelInput& a, const ModelInput& b) {
                             return model_time(device, {a}).us < model_time(device, {b}).us;
                           });
}

// `busy_us`: of the pipe that is busiest. `time_us`: modelled.
void add_shape(std::vector<double>& all, const DeviceSpec& device, const ModelInput& launch,
               double busy_us, double time_us) {
  const double resident = std::max(
      1, resident_blocks(device, launch.threads_per_block, launch.registers, launch.shared_bytes));
  const double blocks = static_cast<double>(std::max<std::int64_t>(1, launch.blocks));
  const double a_sm = blocks / device.sms;
  all.push_back(std::clamp(octaves(a_sm / resident), -3.0, 4.0));
  all.push_back(std::clamp(octaves(a_sm), -3.0, 6.0));
  all.push_back(octaves(resident));
  all.push_back(octaves(launch.threads_per_block / 32.0 * std::min(resident, std::ceil(a_sm))));
  all.push_back(octaves(launch.registers));
  all.push_back(std::log2(1 + static_cast<double>(launch.shared_bytes) / 4096));
  const double warps = blocks * std::ceil(launch.threads_per_block / 32.0);
  const double barriers = launch.counts[Counter::barriers].value / warps;
  const double ahead = std::max(0.0, launch.rounds_ahead);
  const double l2 = launch.counts[Counter::l2_bytes].value;
  all.push_back(std::log2(1 + barriers));
  all.push_back(std::log2(1 + launch.rounds));
  all.push_back(std::log2(1 + ahead));
  all.push_back(std::log2(1 + std::min(most_in_flight, launch.loads_in_flight)));
  all.push_back(std::log2(1 + static_cast<double>(launch.shared_bytes) / (1 + ahead) / 1024));
  all.push_back(octaves(1e3 * busy_us * std::min<double>(device.sms, blocks) / blocks /
                        std::max(1.0, launch.rounds > 0 ? launch.rounds : barriers)));
  all.push_back(std::log2(1 + l2 / blocks / 1024));
  all.push_back(std::log2(1 + launch.counts[Counter::global_store_sectors].value / blocks / 32));
  all.push_back(std::log2(1 + launch.counts[Counter::warp_instructions].value / warps / 32));
  all.push_back(std::log2(1 + meeting_us * octaves(launch.cluster) / time_us));
  const double last = launch.last_block_requests / std::ceil(launch.threads_per_block / 32.0);
  all.push_back(std::log2(1 + last * request_us / time_us));
  const bool joins = launch.counts[Counter::atomic_requests].value > 0 && last == 0;
  all.push_back(joins ? std::log2(1 + join_us / time_us) : 0);
  all.push_back(std::log2(1 + launch.repeated_text / 64));
  all.push_back(launch.distinct_loads > 0 ? 5 + octaves(launch.distinct_loads) : 0);
}

void add_mix(std::vector<double>& all, const ModelInput& launch) {
  const auto count = [&](Counter counter) { return launch.counts[counter].value; };
  const double instructions = count(Counter::warp_instructions);
  const double wavefronts =
      count(Counter::shared_load_wavefronts) + count(Counter::shared_store_wavefronts);
  const double requests =
      count(Counter::global_load_requests) + count(Counter::global_store_requests);
  const double sectors = count(Counter::global_load_sectors) + count(Counter::global_store_sectors);
  const double tensor = count(Counter::ops_tensor_bf16) + count(Counter::ops_tensor_fp16) +
                        count(Counter::ops_tensor_tf32) + count(Counter::ops_tensor_fp8) +
                        count(Counter::ops_tensor_int8);
  all.push_back(share(sectors, requests));
  all.push_back(share(count(Counter::shared_conflicts), wavefronts));
  all.push_back(share(count(Counter::async_copy_bytes), 32 * sectors));
  all.push_back(share(32 * count(Counter::atomic_requests), instructions));
  all.push_back(share(32 * count(Counter::barriers), instructions));
  all.push_back(share(8 * requests, instructions));
  all.push_back(share(count(Counter::ops_tensor_fp8) + count(Counter::ops_tensor_int8), tensor));
}

}  // namespace

std::span<const std::string_view> resource_names() { return names; }

std::vector<double> resource_coordinates(const DeviceSpec& device,
                                         const std::vector<ModelInput>& launches,
                                         const ModelledTime& time) {
  std::vector<double> all;
  all.reserve(names.size());
  double busy_us = 0;
  for (const auto& [name, us] : time.terms_us) {
    all.push_back(octaves(std::max(least_share, us / time.us)));
    if (name.ends_with("pipe")) busy_us = std::max(busy_us, us);
  }
  all.push_back(octaves(time.us));
  const ModelInput& launch = longest(device, launches);
  add_shape(all, device, launch, busy_us, time.us);
  all.push_back(octaves(static_cast<double>(launches.size())));
  add_mix(all, launch);
  return all;
}

}  // namespace cupilot
