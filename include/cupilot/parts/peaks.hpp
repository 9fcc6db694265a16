// What a device sustains: bandwidths, rates and the cost of a launch, measured on it or taken from
// its datasheet, and the file that keeps them (docs/formats/peaks.md).
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
  std::string how{};              // the kernel or library that reached it, or the datasheet
};
// Largest less smallest repeat over the median; 0: fewer than two.
double spread(const Ceiling& ceiling);

struct Peaks {
  std::string device{};    // "NVIDIA H200"
  std::string identity{};  // Backend::identity(): UUID and driver
  bool measured = false;   // else the rows of a datasheet
  std::string source{};    // of rows that were not measured
  std::vector<Ceiling> ceilings{};
  std::vector<std::string>
      conditions{};  // clocks and power while it was measured, one sentence each
};
// The ceiling of that name; null: there is none.
const Ceiling* find_ceiling(const Peaks& peaks, std::string_view name);

// What the data of a device that was never measured say.
Peaks datasheet_peaks(const DeviceSpec& device, std::string identity);
// The device with sustained rates as measured, `file` named in DeviceSpec::ceilings. Peak rates
// stay: no floor rests on what one program reached. Unchanged when nothing was measured.
DeviceSpec with_peaks(DeviceSpec device, const Peaks& peaks, std::string_view file);

// The row of `identity` in a file of measured peaks; nothing when there is no such file or row.
// Error: it cannot be read.
Result<std::optional<Peaks>> load_peaks(const std::string& path, std::string_view identity);
// Writes or replaces the row of peaks.identity; the other rows stay.
Result<void> save_peaks(const Peaks& peaks, const std::string& path);

}  // namespace cupilot
CUPILOT_EXPORTS_END
