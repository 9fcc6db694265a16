// A chip as data. Rates are sustained peaks with their source; unknown ones are 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/dtype.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct DeviceSpec {
  std::string name{};   // "h200"
  std::string label{};  // "NVIDIA H200"
  std::string arch{};   // NVRTC's name: "sm_90a"
  int compute_major = 9, compute_minor = 0;
  int sms = 132;
  double clock_hz = 1.98e9;          // boost
  double dram_bytes_per_s = 4.8e12;  // peak by datasheet: the floor uses it
  double dram_sustained = 4.2e12;    // measured copy or read rate: the model uses it
  double l2_bytes_per_s = 9.0e12;
  std::int64_t l2_bytes = 50ll << 20;
  std::int64_t memory_bytes = 141ll << 30;
  int shared_per_block = 232448;  // opt-in dynamic limit
  int shared_per_sm = 233472;
  int shared_reserved = 1024;  // taken per block by the system
  int registers_per_sm = 65536;
  int threads_per_block = 1024;
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  double launch_seconds = 3.9e-6;  // an empty kernel between two events
  // Peak operations per second (multiply-add = 2) by precision class, sustained and datasheet.
  // Index: Precision.
  std::array<double, 10> sustained_flops{};
  std::array<double, 10> peak_flops{};
  double shared_bytes_per_s = 0;  // all SMs together, sustained; 0: 128 bytes per clock and SM
  std::string source{};           // origin of the numbers
  // Origin of sustained rates that were measured on this very device ("cupilot peaks, FILE");
  // empty: they are from `source`.
  std::string ceilings{};
};

// Lists the chips known by name; "h200" first.
std::vector<std::string> known_chips();
Result<DeviceSpec> chip(std::string_view name);

// Resident blocks per SM by each resource and by all of them. A block that breaks a limit of its
// own (too many threads, too much shared memory) has 0 there.
struct Residency {
  int threads = 0, registers = 0, shared = 0, slots = 0;  // slots: blocks_per_sm
  int blocks = 0;                                         // the least of them
  std::string_view limit = "";  // "threads", "registers", "shared" or "slots": the first smallest.
};

// Computes residency from threads per block, registers per thread (0: unknown, no limit) and shared
// bytes per block, by the CUDA occupancy rules of sm_80 and later.
Residency residency(const DeviceSpec& device, int threads, int registers,
                    std::int64_t shared_bytes);
int resident_blocks(const DeviceSpec& device, int threads, int registers,
                    std::int64_t shared_bytes);

}  // namespace cupilot
CUPILOT_EXPORTS_END
