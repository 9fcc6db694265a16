#include "roofline/time_terms.hpp"

#include <algorithm>
#include <utility>

namespace cupilot {
namespace {

// Lanes of an SM a clock (CUDA C++ Programming Guide, arithmetic throughput, compute capability 8.0
// to 9.0).
constexpr double integer_lanes = 64;
constexpr double special_lanes = 16;
constexpr double atomic_cycles = 4;      // cycles of the memory path, per warp's atomic
constexpr double wavefront_bytes = 128;  // shared memory, per clock
constexpr double fill_bytes = 64;        // global data that an SM takes or gives, per clock

double sustained(const DeviceSpec& device, Precision precision) {
  return device.sustained_flops[static_cast<std::size_t>(precision)];
}

double peak(const DeviceSpec& device, Precision precision) {
  return device.peak_flops[static_cast<std::size_t>(precision)];
}

// Cycles of one SM for `operations` at a whole-device rate; 0 where the device has no such pipe
// known.
double at_rate(const DeviceSpec& device, double operations, double rate) {
  return rate > 0 ? operations / (rate / device.sms / clock(device)) : 0;
}

}  // namespace

double bounded(const Count& count, Bound bound) {
  if (count.how == CountHow::unknown) return count.value;
  if (bound == Bound::value) return count.value;
  // An interval that was left out is the value alone.
  if (count.low == 0 && count.high == 0) return count.value;
  return bound == Bound::low ? count.low : count.high;
}

double clock(const DeviceSpec& device) {
  const double top = peak(device, Precision::fp32_strict);
  const double held = sustained(device, Precision::fp32_strict);
  return top > 0 && held > 0 ? device.clock_hz * held / top : device.clock_hz;
}

PipeCycles pipe_cycles(const DeviceSpec& device, const Counts& counts, Bound bound) {
  const auto get = [&](Counter counter) { return bounded(counts[counter], bound); };
  PipeCycles cycles;
  cycles.issue = std::max(get(Counter::issue_slots), get(Counter::warp_instructions)) / schedulers;
  // fp16 outside the tensor pipe runs two to a lane.
  cycles.fp32 = at_rate(device, get(Counter::flops_fp32) + get(Counter::flops_fp16) / 2,
                        sustained(device, Precision::fp32_strict));
  cycles.fp64 = at_rate(device, get(Counter::flops_fp64), sustained(device, Precision::fp64));
  cycles.tensor =
      at_rate(device, get(Counter::ops_tensor_bf16), sustained(device, Precision::bf16)) +
      at_rate(device, get(Counter::ops_tensor_fp16), sustained(device, Precision::fp16)) +
      at_rate(device, get(Counter::ops_tensor_tf32), sustained(device, Precision::tf32)) +
      at_rate(device, get(Counter::ops_tensor_fp8), sustained(device, Precision::fp8)) +
      // int8 and fp8 share a rate on the chips known here; where there is no fp8, twice that of
      // fp16.
      at_rate(device, get(Counter::ops_tensor_int8),
              std::max(sustained(device, Precision::fp8), 2 * sustained(device, Precision::fp16)));
  cycles.integer = get(Counter::integer_ops) / integer_lanes;
  cycles.special = get(Counter::special_ops) / special_lanes;
  // Shared memory and the global accesses' addresses pass one path; the data of the latter come by
  // another.
  cycles.memory = get(Counter::shared_load_wavefronts) + get(Counter::shared_store_wavefronts) +
                  get(Counter::global_load_requests) + get(Counter::global_store_requests) +
                  get(Counter::local_bytes) / wavefront_bytes +
                  atomic_cycles * get(Counter::atomic_requests);
  cycles.fill = (get(Counter::global_load_sectors) + get(Counter::global_store_sectors)) *
                sector_bytes / fill_bytes;
  return cycles;
}

double warpgroup_cycles(const DeviceSpec& device, const Counts& counts, Bound bound) {
  constexpr double bf16_operations = 4096;
  constexpr std::pair<Counter, Precision> rows[] = {{Counter::ops_tensor_bf16, Precision::bf16},
                                                    {Counter::ops_tensor_fp16, Precision::fp16},
                                                    {Counter::ops_tensor_tf32, Precision::tf32},
                                                    {Counter::ops_tensor_fp8, Precision::fp8},
                                                    {Counter::ops_tensor_int8, Precision::fp8}};
  double cycles = 0;
  for (const auto& [counter, precision] : rows) {
    const double rate = peak(device, precision);
    if (rate > 0)
      cycles +=
          bounded(counts[counter], bound) / bf16_operations * peak(device, Precision::bf16) / rate;
  }
  return cycles;
}

double l2_bytes(const Counts& counts, Bound bound) {
  const double counted = bounded(counts[Counter::l2_bytes], bound);
  if (counted > 0) return counted;
  return (bounded(counts[Counter::global_load_sectors], bound) +
          bounded(counts[Counter::global_store_sectors], bound)) *
         sector_bytes;
}

}  // namespace cupilot
