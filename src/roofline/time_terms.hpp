// Costs of counts on the pipes of an SM, in cycles summed over all blocks; shared by the time
// model and the verdict.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <cupilot/parts/counts.hpp>
#include <cupilot/parts/device.hpp>

namespace cupilot {

// Terms of a modelled time. Their names are what ModelledTime::binding and Measurement::binding
// hold.
enum class Term {
  issue,
  fp32,
  fp64,
  tensor,
  integer,
  special,
  shared,
  l2,
  dram,
  latency,
  tail,
  launch,
  count_
};
inline constexpr std::size_t term_count = static_cast<std::size_t>(Term::count_);
inline constexpr std::array<std::string_view, term_count> term_names = {
    "issue",  "fp32 pipe", "fp64 pipe", "tensor pipe", "integer pipe", "special pipe",
    "shared", "l2",        "dram",      "latency",     "tail",         "launch"};

inline constexpr double schedulers = 4;     // per SM
inline constexpr double sector_bytes = 32;  // L1, L2 and DRAM

// Which end of a count's interval.
enum class Bound { value, low, high };
double bounded(const Count& count, Bound bound);

// Sustained SM clock: the boost clock as far as a full multiply-add load lets it be held.
double clock(const DeviceSpec& device);

struct PipeCycles {
  double issue = 0, fp32 = 0, fp64 = 0, tensor = 0, integer = 0, special = 0;
  double memory = 0;  // accesses to shared memory, and addresses of global ones
  double fill = 0;    // data of global accesses
};
PipeCycles pipe_cycles(const DeviceSpec& device, const Counts& counts, Bound bound);

// Tensor cycles where products are whole warpgroups': 4096 operations of bf16 an SM and clock
// (compute capability 9.0), other types as their peaks stand to bf16's.
double warpgroup_cycles(const DeviceSpec& device, const Counts& counts, Bound bound);

// Bytes between L2 and the SMs: counted, or every sector asked for.
double l2_bytes(const Counts& counts, Bound bound);

}  // namespace cupilot
