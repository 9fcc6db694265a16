// Names a device's ceilings and puts measured ones into its data.
#include <cupilot/parts/peaks.hpp>

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace cupilot {
namespace {

struct PeakName {
  std::string_view name, unit;
  double (*of)(const DeviceSpec&);  // by the device's data
};

template <Precision P>
double rate(const DeviceSpec& d) {
  return d.peak_flops[static_cast<std::size_t>(P)];
}

// Rows of `cupilot peaks`, in its order. A copy's bytes are those read and those written.
constexpr std::array<PeakName, 12> peak_names = {{
    {"dram copy", "B/s", [](const DeviceSpec& d) { return d.dram_bytes_per_s; }},
    {"dram read", "B/s", [](const DeviceSpec& d) { return d.dram_bytes_per_s; }},
    {"l2 read", "B/s", [](const DeviceSpec& d) { return d.l2_bytes_per_s; }},
    {"shared read", "B/s", [](const DeviceSpec& d) { return 128.0 * d.sms * d.clock_hz; }},
    {"fp32", "op/s", rate<Precision::fp32_strict>},
    {"fp64", "op/s", rate<Precision::fp64>},
    {"fp64 tensor", "op/s", [](const DeviceSpec&) { return 0.0; }},
    {"tf32", "op/s", rate<Precision::tf32>},
    {"bf16", "op/s", rate<Precision::bf16>},
    {"fp16", "op/s", rate<Precision::fp16>},
    {"fp8", "op/s", rate<Precision::fp8>},
    {"launch", "s", [](const DeviceSpec& d) { return d.launch_seconds; }},
}};

}  // namespace

double spread(const Ceiling& ceiling) {
  if (ceiling.repeats.size() < 2 || !(ceiling.value > 0)) return 0;
  const auto [least, most] = std::minmax_element(ceiling.repeats.begin(), ceiling.repeats.end());
  return (*most - *least) / ceiling.value;
}

const Ceiling* find_ceiling(const Peaks& peaks, std::string_view name) {
  const auto found = std::find_if(peaks.ceilings.begin(), peaks.ceilings.end(),
                                  [&](const Ceiling& c) { return c.name == name; });
  return found != peaks.ceilings.end() ? &*found : nullptr;
}

Peaks datasheet_peaks(const DeviceSpec& device, std::string identity) {
  Peaks peaks;
  peaks.device = device.label.empty() ? device.name : device.label;
  peaks.identity = std::move(identity);
  peaks.source = device.source;
  for (const PeakName& row : peak_names) {
    if (const double value = row.of(device); value > 0)
      peaks.ceilings.push_back({std::string(row.name),
                                std::string(row.unit),
                                value,
                                {},
                                "the device's data, not measured"});
  }
  return peaks;
}

DeviceSpec with_peaks(DeviceSpec device, const Peaks& peaks, std::string_view file) {
  const auto value = [&](std::string_view name) {
    const Ceiling* found = find_ceiling(peaks, name);
    return found != nullptr && !found->repeats.empty() ? found->value : 0.0;
  };
  if (!peaks.measured) return device;
  // A kernel's traffic lies between all reads and half writes.
  if (const double copy = value("dram copy"), read = value("dram read"); copy > 0 && read > 0)
    device.dram_sustained = (copy + read) / 2;
  if (const double l2 = value("l2 read"); l2 > 0) device.l2_bytes_per_s = l2;
  if (const double shared = value("shared read"); shared > 0) device.shared_bytes_per_s = shared;
  if (const double launch = value("launch"); launch > 0) device.launch_seconds = launch;
  const auto take = [&](Precision precision, double measured) {
    if (measured > 0) device.sustained_flops[static_cast<std::size_t>(precision)] = measured;
  };
  const double tf32 = value("tf32"), bf16 = value("bf16"), fp8 = value("fp8");
  take(Precision::fp32_strict, value("fp32"));
  take(Precision::fp64, value("fp64"));
  take(Precision::tf32, tf32);
  take(Precision::bf16, bf16);
  take(Precision::fp16, value("fp16"));
  take(Precision::fp8, fp8);
  take(Precision::fp8_promoted, fp8);
  // Emulated classes are their pipe's rate over its products, as in the table of chips.
  take(Precision::bf16x3, bf16 / 3);
  take(Precision::fp32_emulated, std::max(tf32 / 3, bf16 / 6));
  device.ceilings = fmt::format("measured on this device by cupilot peaks: {}", file);
  return device;
}

}  // namespace cupilot
