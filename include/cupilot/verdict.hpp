// The roofline verdict on a measured kernel: its zone, its bottlenecks and its distance from the
// floor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/warp_cycles.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Arithmetic intensity left of both ridges, between the ridges of the plain and the tensor pipe, or
// right of both.
enum class Zone { memory, middle, compute };
std::string_view name_of(Zone zone);

// share: of the time that this resource alone would need, 0..1 (1: it is the whole time). Time that
// no resource needs is latency; where the warps' stalls were counted, it is split among the
// resources that they point to.
struct Bottleneck {
  Resource resource = Resource::dram;
  double share = 0;
};

struct StallShare {
  Stall stall = Stall::selected;
  double share = 0;  // share of the cycles that warps were resident, 0..1
};
// Returns the warps' use of their cycles in descending order. Empty: not counted, or impossible
// counts (not finite, below 0, more cycles than resident).
std::vector<StallShare> stall_shares(const WarpCycles& warps);
// Names the main reasons of waiting, with numbers; "" where warps hardly waited or nothing is
// known.
std::string stall_sentence(const std::vector<StallShare>& stalls);

struct Verdict {
  Zone zone = Zone::memory;
  double intensity = 0;  // flops per DRAM byte
  double ridge_plain = 0, ridge_tensor = 0;
  double achieved_flops = 0;  // operations per second
  double achieved_bytes = 0;  // DRAM bytes per second
  double floor_us = 0;        // lower bound of any correct kernel of the class
  double floor_share = 0;     // floor / time, 0..1
  Resource binding = Resource::dram;
  std::vector<Bottleneck> bottlenecks{};       // descending
  std::vector<StallShare> stalls{};            // descending; empty: not counted
  double utilisation = 0;                      // utilisation of the zone-relevant pipe, 0..1
  CounterSource source = CounterSource::none;  // evidence
  std::vector<std::string> digest{};           // plain sentences with numbers
};

// Returns the zone of a task by its work and the device, before anything ran.
Zone zone_of(const Task& task, const Workload& workload, const DeviceSpec& device);

// The floor in microseconds: max(compulsory bytes / peak bandwidth, flops / peak of the class).
Result<double> floor_us(const Task& task, const Workload& workload, const DeviceSpec& device,
                        Precision proved);

// The share of a floor down to which a time is believed: clocks may run above their nominal rate.
inline constexpr double floor_margin = 0.97;

// The floor of one kernel in microseconds: the bytes that the data makes unavoidable, and the
// operations and instructions that `counts` say it executes, at datasheet rates. A graph of several
// operators can often be computed with fewer operations than its text writes.
Result<double> executed_floor_us(const Task& task, const Workload& workload,
                                 const DeviceSpec& device, const Counts& counts);
// True where executed_floor_us() may stand for floor_us(): the task has several operations, and
// the instructions, and the operations of each class that the device has a rate for, were counted
// exactly.
bool counts_set_floor(const Task& task, const DeviceSpec& device, const Counts& counts);

// `warps`: of the kernel's run, if hardware counters were read.
Result<Verdict> judge(const Task& task, const Workload& workload, const DeviceSpec& device,
                      const Measurement& measurement, const WarpCycles& warps = {});

// Modelled time from counts: occupancy, issue, pipe, shared, L2, DRAM and latency terms with wave
// quantisation (docs/formats/time-model.md). One entry per launch of the plan, in order, without
// setup launches.
struct ModelInput {
  Counts counts{};  // whole launch; counters with how == unknown are ignored
  std::int64_t blocks = 1;
  int threads_per_block = 1;
  int cluster = 1;                // blocks of a cluster
  int registers = 32;             // per thread, as assembled
  std::int64_t shared_bytes = 0;  // per block, static and dynamic
  // Dependent chain of one block running alone, in cycles, global memory latency included; 0:
  // estimated from counts.
  double serial_latency_cycles = 0;
  // Number of times that a block waits at a barrier for data from global memory (K tiles of the
  // main loop); 0: derived from the barrier count.
  double rounds = 0;
  // Rounds by which loads are issued ahead: stages - 1 in a cp.async pipeline, 1 with register
  // prefetch, 0: none. Negative: unknown, 1 if the launch has asynchronous copies, else 0.
  double rounds_ahead = -1;
  // Independent global loads that a thread keeps in flight; 0: unknown, taken as 8.
  double loads_in_flight = 0;
  // Global load requests that the last block of a group makes after all others arrived (a split
  // sum's last arriver).
  double last_block_requests = 0;
  // The square of the sum of all instructions' issues over the sum of their squares: the length of
  // a loop that takes all the time, or of a text without one; 0: unknown.
  double repeated_text = 0;
  // Lines of global memory that 16 blocks side by side load, over the sum of what each of their
  // clusters loads: 1/16 where all blocks load the same, 1 where none shares; 0: unknown.
  double distinct_loads = 0;
  // Bytes that a block loads again, of lines that no block beside it loads, and how many bytes of
  // such lines lie between the two loads. Each load counts by what lies between; 0: none, or
  // unknown.
  double reread_bytes = 0, reread_span = 0;
  // Bytes of the lines of global memory that a block stores to, over those of the sectors that it
  // stores: 1 where it fills each line; 0: unknown.
  double stored_lines = 0;
};
struct ModelledTime {
  double us = 0, low_us = 0, high_us = 0;
  std::string binding{};
  std::vector<std::pair<std::string, double>> terms_us{};
  // The residual's correction: us is so many times the model's time, and log2 of the time is normal
  // with this standard deviation. Default: not corrected.
  double correction = 1, sigma = 0;
};
ModelledTime model_time(const DeviceSpec& device, const std::vector<ModelInput>& launches);

}  // namespace cupilot
CUPILOT_EXPORTS_END
