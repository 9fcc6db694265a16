// Sustained bandwidths, rates and launch cost of a device, measured on it or taken from its
// datasheet, and the file that keeps them (docs/formats/peaks.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct Ceiling {
  std::string name{};             // "dram copy", "bf16", "launch"; docs/formats/peaks.md lists them
  std::string unit{};             // "B/s", "op/s" (a multiply-add is 2) or "s"
  double value = 0;               // median of the repeats
  std::vector<double> repeats{};  // empty: not measured
  std::string how{};              // kernel or library that reached it, or the datasheet
};
// Returns (largest - smallest repeat) / median; 0: fewer than two repeats.
double spread(const Ceiling& ceiling);

struct Peaks {
  std::string device{};    // "NVIDIA H200"
  std::string identity{};  // Backend::identity(): UUID and driver
  bool measured = false;   // false: the datasheet's rates
  std::string source{};    // origin of rows that were not measured
  std::vector<Ceiling> ceilings{};
  std::vector<std::string> conditions{};  // Clocks and power during measurement, one sentence each.
};
// Returns the ceiling of that name; null: none.
const Ceiling* find_ceiling(const Peaks& peaks, std::string_view name);

// Returns the datasheet's rates for a device that was never measured.
Peaks datasheet_peaks(const DeviceSpec& device, std::string identity);
// Returns the device with measured sustained rates and `file` named in DeviceSpec::ceilings. Keeps
// peak rates, since a floor must not rest on the rates that one program reached. Unchanged when
// nothing was measured.
DeviceSpec with_peaks(DeviceSpec device, const Peaks& peaks, std::string_view file);

// Reads the row of `identity` from a file of measured peaks; nullopt: no such file or row. Error:
// the file cannot be read.
Result<std::optional<Peaks>> load_peaks(const std::string& path, std::string_view identity);
// Writes or replaces the row of peaks.identity; the other rows stay.
Result<void> save_peaks(const Peaks& peaks, const std::string& path);

}  // namespace cupilot
CUPILOT_EXPORTS_END
