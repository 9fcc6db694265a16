// Zones, floor and verdict.
#include <cupilot/verdict.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "roofline/floors.hpp"
#include "roofline/stalls.hpp"
#include "roofline/time_terms.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

double datasheet_peak(const DeviceSpec& device, Precision precision) {
  return device.peak_flops[static_cast<std::size_t>(precision)];
}

// Rate that a kernel is held against: the device's sustained one, else the datasheet's. Floors
// rest on the datasheet alone.
double ceiling(const DeviceSpec& device, Precision precision) {
  const double measured = device.sustained_flops[static_cast<std::size_t>(precision)];
  return !device.ceilings.empty() && measured > 0 ? measured : datasheet_peak(device, precision);
}
double bandwidth(const DeviceSpec& device) {
  return device.ceilings.empty() ? device.dram_bytes_per_s : device.dram_sustained;
}

bool on_tensor_pipe(Precision precision) {
  switch (precision) {
    case Precision::fp32_emulated:
    case Precision::bf16x3:
    case Precision::tf32:
    case Precision::fp16:
    case Precision::bf16:
    case Precision::fp8_promoted:
    case Precision::fp8:
      return true;
    default:
      return false;
  }
}

// Operations a DRAM byte at which memory and a pipe bind alike. A contract that allows no tensor
// class has one ridge.
struct Ridges {
  double plain = 0, tensor = 0;
};

Ridges ridges(const Task& task, const DeviceSpec& device) {
  const bool tensor = on_tensor_pipe(task.precision) && is_matmul_like(task);
  const Precision plain = on_tensor_pipe(task.precision) ? Precision::fp32_strict : task.precision;
  Ridges found;
  found.plain = ceiling(device, plain) / bandwidth(device);
  found.tensor = tensor ? std::max(found.plain, ceiling(device, task.precision) / bandwidth(device))
                        : found.plain;
  return found;
}

Zone zone_at(double intensity, const Ridges& ridge) {
  if (intensity < ridge.plain) return Zone::memory;
  return intensity < ridge.tensor ? Zone::middle : Zone::compute;
}

double intensity_of(const Task& task, const Workload& workload) {
  const auto bytes = compulsory_bytes(task, workload);
  const auto flops = textbook_flops(task, workload);
  if (!bytes || !flops || *bytes <= 0) return 0;
  return static_cast<double>(*flops) / static_cast<double>(*bytes);
}

// Bytes that must cross DRAM while the kernel is timed: what it reads once; of what it writes, L2
// may keep its size. Without `updates`, tensors in place count once: a mask, say, may leave
// elements as they are.
Result<double> unavoidable_bytes(const Task& task, const Workload& workload,
                                 const DeviceSpec& device, bool updates = true) {
  double read = 0, written = 0, updated = 0;
  for (const Tensor& tensor : task.tensors) {
    const auto shape = shape_of(task, tensor, workload);
    if (!shape) return shape.error();
    const double bytes = static_cast<double>(shape->elements) * size_of(tensor.type);
    if (tensor.role == Role::out) written += bytes;
    if (tensor.role == Role::in_out) updated += bytes;
  }
  const auto all = compulsory_bytes(task, workload);
  if (!all) return all.error();
  read = std::max(0.0, static_cast<double>(*all) - written - updated);
  if (updates) written += updated;
  return read + std::max(0.0, written - static_cast<double>(device.l2_bytes));
}

constexpr double least_dealt = 0.1;  // share of the time; below it warps wait at no cost

struct ResourceTime {
  Resource resource;
  double seconds;  // that this resource alone would need
};

double value(const Counts& counts, Counter counter) {
  return bounded(counts[counter], Bound::value);
}

// The fraction of the last wave's SMs without a block.
double tail_share(const Counts& counts, const DeviceSpec& device) {
  const double waves = value(counts, Counter::blocks) / device.sms;
  return waves > 0 ? 1 - waves / std::ceil(waves) : 0;
}

// Adds waiting, the time that no resource explains: for memory, or for blocks on other SMs.
void add_waits(std::vector<ResourceTime>& all, double tail_share, const DeviceSpec& device,
               double seconds) {
  double busiest = 0;
  for (const ResourceTime& row : all) busiest = std::max(busiest, row.seconds);
  const double idle = std::max(0.0, seconds - device.launch_seconds - busiest);
  const double tail = std::min(idle, tail_share * seconds);
  all.push_back({Resource::tail, tail});
  all.push_back({Resource::latency, idle - tail});
}

// Rows of a kernel without counts: it does the task's work at least; its other work counts as
// waiting.
std::vector<ResourceTime> rows_of_work(const Task& task, double bytes, double flops,
                                       const DeviceSpec& device, double seconds) {
  const double rate = ceiling(device, task.precision);
  std::vector<ResourceTime> all = {
      {Resource::dram, bytes / bandwidth(device)},
      {on_tensor_pipe(task.precision) ? Resource::tensor_pipe : Resource::fp_pipe,
       rate > 0 ? flops / rate : 0},
      {Resource::launch, device.launch_seconds},
  };
  add_waits(all, 0, device, seconds);
  return all;
}

std::vector<ResourceTime> resource_times(const Counts& counts, const DeviceSpec& device,
                                         double seconds) {
  const PipeCycles cycles = pipe_cycles(device, counts, Bound::value);
  const double blocks = value(counts, Counter::blocks);
  const double sms = blocks > 0 ? std::min<double>(device.sms, blocks) : device.sms;
  const double second = 1 / (clock(device) * sms);
  std::vector<ResourceTime> all = {
      {Resource::dram,
       (value(counts, Counter::dram_read_bytes) + value(counts, Counter::dram_write_bytes)) /
           device.dram_sustained},
      {Resource::l2,
       std::max(l2_bytes(counts, Bound::value) / device.l2_bytes_per_s, cycles.fill * second)},
      {Resource::shared, cycles.memory * second},
      {Resource::fp_pipe,
       std::max({cycles.fp32, cycles.fp64, cycles.integer, cycles.special}) * second},
      {Resource::tensor_pipe, cycles.tensor * second},
      {Resource::issue, cycles.issue * second},
      {Resource::launch, device.launch_seconds},
  };
  add_waits(all, tail_share(counts, device), device, seconds);
  return all;
}

constexpr std::pair<std::string_view, Resource> bindings[] = {
    {"issue", Resource::issue},
    {"fp32 pipe", Resource::fp_pipe},
    {"fp64 pipe", Resource::fp_pipe},
    {"integer pipe", Resource::fp_pipe},
    {"special pipe", Resource::fp_pipe},
    {"tensor pipe", Resource::tensor_pipe},
    {"shared", Resource::shared},
    {"l2", Resource::l2},
    {"dram", Resource::dram},
    {"latency", Resource::latency},
    {"tail", Resource::tail},
    {"launch", Resource::launch},
};

double utilisation(const Verdict& verdict, const Task& task, const DeviceSpec& device) {
  const double memory = verdict.achieved_bytes / bandwidth(device);
  const double plain = verdict.ridge_plain * bandwidth(device);
  const double tensor = verdict.ridge_tensor * bandwidth(device);
  const double compute = verdict.achieved_flops / (on_tensor_pipe(task.precision) ? tensor : plain);
  double share = memory;
  if (verdict.zone == Zone::compute) share = compute;
  if (verdict.zone == Zone::middle) share = std::max(memory, compute);
  return std::clamp(share, 0.0, 1.0);
}

std::string amount(double value, std::string_view unit) {
  constexpr std::pair<double, std::string_view> scales[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [scale, letter] : scales) {
    if (value >= scale) return fmt::format("{:.3g} {}{}", value / scale, letter, unit);
  }
  return fmt::format("{:.3g} {}", value, unit);
}

// dealt: share of the time that the warps' stalls explained.
void add_digest(Verdict& verdict, const Measurement& measurement, const DeviceSpec& device,
                double dealt) {
  auto& say = verdict.digest;
  const double launch_us = device.launch_seconds * 1e6;
  say.push_back(
      fmt::format("{} time {:.2f} us, of which {:.1f} us are an empty launch; the floor is {:.2f} "
                  "us, so at most "
                  "{:.1f} times faster is possible.",
                  name_of(measurement.provenance), measurement.time_us, launch_us, verdict.floor_us,
                  std::max(1.0, measurement.time_us / (verdict.floor_us + launch_us))));
  const std::string ridge = verdict.ridge_tensor > verdict.ridge_plain
                                ? fmt::format("ridges at {:.1f} (plain) and {:.1f} (tensor)",
                                              verdict.ridge_plain, verdict.ridge_tensor)
                                : fmt::format("ridge at {:.1f}", verdict.ridge_plain);
  say.push_back(fmt::format("It does {:.1f} operations a DRAM byte, {}: {} zone.",
                            verdict.intensity, ridge, name_of(verdict.zone)));
  say.push_back(
      fmt::format("It reaches {} and {} of DRAM; the pipe that counts in its zone is {:.0f}% used.",
                  amount(verdict.achieved_flops, "FLOP/s"), amount(verdict.achieved_bytes, "B/s"),
                  100 * verdict.utilisation));
  // No technique changes the cost of a launch.
  std::string bottlenecks, binding;
  for (const Bottleneck& pressure : verdict.bottlenecks) {
    if (pressure.resource == Resource::launch) continue;
    if (binding.empty()) binding = name_of(pressure.resource);
    if (pressure.share < 0.05) break;
    bottlenecks += fmt::format("{}{} {:.0f}%", bottlenecks.empty() ? "" : ", ",
                               name_of(pressure.resource), 100 * pressure.share);
  }
  if (bottlenecks.empty()) bottlenecks = "all below 5%";
  if (verdict.binding == Resource::launch)
    binding = "the launch takes most of the time; of the rest " + binding;
  say.push_back(fmt::format("{} binds; shares of the time each would need alone{}: {}.", binding,
                            verdict.stalls.empty() ? "" : " or is waited for", bottlenecks));
  if (const std::string waits = stall_sentence(verdict.stalls); !waits.empty())
    say.push_back(dealt < least_dealt ? waits : waits + stall_advice(verdict.stalls));
  const Counts& counts = measurement.counts;
  const double wavefronts = value(counts, Counter::shared_load_wavefronts) +
                            value(counts, Counter::shared_store_wavefronts);
  if (const double conflicts = value(counts, Counter::shared_conflicts);
      wavefronts > 0 && conflicts > 0.02 * wavefronts) {
    say.push_back(fmt::format("{:.0f}% of its shared-memory passes are bank conflicts.",
                              100 * conflicts / wavefronts));
  }
  if (const double local = value(counts, Counter::local_bytes); local > 0) {
    say.push_back(fmt::format("It spills: {} of local memory traffic.", amount(local, "B")));
  }
  if (const double blocks = value(counts, Counter::blocks); blocks > 0) {
    say.push_back(fmt::format("{:.0f} blocks on {} SMs.", blocks, device.sms));
  }
  if (!device.ceilings.empty()) say.push_back(fmt::format("Ceilings {}.", device.ceilings));
}

}  // namespace

std::string_view name_of(Zone zone) {
  constexpr std::string_view names[] = {"memory", "middle", "compute"};
  return names[static_cast<std::size_t>(zone)];
}

Zone zone_of(const Task& task, const Workload& workload, const DeviceSpec& device) {
  return zone_at(intensity_of(task, workload), ridges(task, device));
}

namespace {

Result<double> floor_of(const Task& task, const Workload& workload, const DeviceSpec& device,
                        Precision proved, bool updates) {
  const auto bytes = unavoidable_bytes(task, workload, device, updates);
  if (!bytes) return bytes.error();
  const auto flops = textbook_flops(task, workload);
  if (!flops) return flops.error();
  const double rate = datasheet_peak(device, proved);
  if (*flops > 0 && rate <= 0) {
    return Error{
        ErrorCode::usage,
        fmt::format("no peak rate of class {} is known for {}", name_of(proved), device.name),
        "add it to the device's data"};
  }
  const double memory = *bytes / device.dram_bytes_per_s;
  const double compute = *flops > 0 ? static_cast<double>(*flops) / rate : 0;
  return 1e6 * std::max(memory, compute);
}

}  // namespace

Result<double> floor_us(const Task& task, const Workload& workload, const DeviceSpec& device,
                        Precision proved) {
  return floor_of(task, workload, device, proved, true);
}

Result<double> floor_beside_updates_us(const Task& task, const Workload& workload,
                                       const DeviceSpec& device, Precision proved) {
  return floor_of(task, workload, device, proved, false);
}

namespace {

constexpr std::pair<Counter, Precision> executed_classes[] = {
    {Counter::flops_fp64, Precision::fp64},      {Counter::flops_fp32, Precision::fp32_strict},
    {Counter::ops_tensor_bf16, Precision::bf16}, {Counter::ops_tensor_fp16, Precision::fp16},
    {Counter::ops_tensor_tf32, Precision::tf32}, {Counter::ops_tensor_fp8, Precision::fp8}};

}  // namespace

bool counts_set_floor(const Task& task, const DeviceSpec& device, const Counts& counts) {
  if (task.operations.size() < 2 || counts[Counter::warp_instructions].how != CountHow::exact)
    return false;
  return std::all_of(
      std::begin(executed_classes), std::end(executed_classes), [&](const auto& one) {
        return datasheet_peak(device, one.second) <= 0 || counts[one.first].how == CountHow::exact;
      });
}

Result<double> executed_floor_us(const Task& task, const Workload& workload,
                                 const DeviceSpec& device, const Counts& counts) {
  const auto bytes = unavoidable_bytes(task, workload, device);
  if (!bytes) return bytes.error();
  double seconds = *bytes / device.dram_bytes_per_s, tensor = 0;
  for (const auto& [counter, precision] : executed_classes) {
    const double rate = datasheet_peak(device, precision);
    double operations = value(counts, counter);
    // fp16 outside the tensor pipe runs two to a lane.
    if (counter == Counter::flops_fp32) operations += value(counts, Counter::flops_fp16) / 2;
    const double own = rate > 0 ? operations / rate : 0;
    // Classes of the tensor cores share them.
    if (on_tensor_pipe(precision)) tensor += own;
    seconds = std::max(seconds, own);
  }
  const double issued =
      value(counts, Counter::warp_instructions) / (schedulers * device.sms * device.clock_hz);
  return 1e6 * std::max({seconds, tensor, issued});
}

Result<Verdict> judge(const Task& task, const Workload& workload, const DeviceSpec& device,
                      const Measurement& measurement, const WarpCycles& warps) {
  if (!(measurement.time_us > 0))
    return Error{ErrorCode::failure, "a verdict needs a time above zero", {}};
  auto floor = floor_us(task, workload, device, task.precision);
  if (!floor) return floor.error();
  const auto executed = executed_floor_us(task, workload, device, measurement.counts);
  if (!executed) return executed.error();
  const bool short_cut = counts_set_floor(task, device, measurement.counts) &&
                         std::max(measurement.time_us, *executed) < floor_margin * *floor;
  if (short_cut) floor = *executed;
  if (!short_cut && measurement.time_us < floor_margin * *floor)
    floor = floor_beside_updates_us(task, workload, device, task.precision);
  if (!floor) return floor.error();
  const auto flops = textbook_flops(task, workload);
  const auto bytes = compulsory_bytes(task, workload);
  if (!flops) return flops.error();
  if (!bytes) return bytes.error();
  const double seconds = measurement.time_us * 1e-6;
  const Counts& counts = measurement.counts;
  const Ridges ridge = ridges(task, device);
  Verdict verdict;
  verdict.source = counts.source == CounterSource::none ? CounterSource::analytic : counts.source;
  const double counted =
      value(counts, Counter::dram_read_bytes) + value(counts, Counter::dram_write_bytes);
  const double moved = counted > 0 ? counted : static_cast<double>(*bytes);
  verdict.intensity = moved > 0 ? static_cast<double>(*flops) / moved : 0;
  verdict.ridge_plain = ridge.plain;
  verdict.ridge_tensor = ridge.tensor;
  // The zone is the task's: a kernel that moves too much must not be told that memory is its
  // nature.
  verdict.zone = zone_of(task, workload, device);
  verdict.achieved_flops = static_cast<double>(*flops) / seconds;
  verdict.achieved_bytes = moved / seconds;
  verdict.floor_us = *floor;
  verdict.floor_share = std::min(1.0, *floor / measurement.time_us);
  const bool counted_any = counts.source != CounterSource::none;
  for (const ResourceTime& row : counted_any
                                     ? resource_times(counts, device, seconds)
                                     : rows_of_work(task, static_cast<double>(*bytes),
                                                    static_cast<double>(*flops), device, seconds)) {
    verdict.bottlenecks.push_back({row.resource, std::clamp(row.seconds / seconds, 0.0, 1.0)});
  }
  verdict.stalls = stall_shares(warps);
  const double dealt = counted_any ? deal_waiting(verdict.bottlenecks, verdict.stalls) : 0;
  std::stable_sort(verdict.bottlenecks.begin(), verdict.bottlenecks.end(),
                   [](const Bottleneck& a, const Bottleneck& b) { return a.share > b.share; });
  verdict.binding = verdict.bottlenecks.front().resource;
  for (const auto& [name, resource] : bindings) {
    if (name == measurement.binding) verdict.binding = resource;
  }
  verdict.utilisation = utilisation(verdict, task, device);
  add_digest(verdict, measurement, device, dealt);
  if (short_cut)
    verdict.digest.push_back(
        "It is faster than the task's operations as written could be, and executes fewer: an "
        "algebraic short cut.");
  return verdict;
}

}  // namespace cupilot
