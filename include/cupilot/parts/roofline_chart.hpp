// A roofline chart: ceilings, the kernels of a search below them, the sequence of best kernels, the
// floor. Both axes are logarithmic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct RooflinePoint {
  double intensity = 0;  // operations per DRAM byte; counted bytes, else the least possible
  double rate = 0;       // operations per second
  std::string label{};   // "slot 12: 181 us"
};

// A bandwidth (bytes per second: a slope) or a rate (operations per second: a flat roof).
struct RooflineCeiling {
  std::string name{};  // "DRAM", "bf16"
  double value = 0;
};

struct RooflineChart {
  std::string title{};   // "gemm on NVIDIA H200"
  std::string source{};  // origin of the ceilings
  std::vector<RooflineCeiling> slopes{}, roofs{};
  std::vector<RooflinePoint>
      population{};  // Accepted kernels by slot: all, or a few thousand of a long run.
  std::vector<RooflinePoint> path{};  // subset of those that were the fastest so far
  std::optional<RooflinePoint> floor{}, champion{};
};

// Makes a chart without kernels: the ceilings of a task's class on a device, sustained ones where
// they were measured there, else the datasheet's, and the floor.
Result<RooflineChart> roofline_of(const Task& task, const DeviceSpec& device);
// Makes a chart with the kernels of a run directory.
Result<RooflineChart> roofline_of_run(const std::string& run_dir);

// Draws a self-contained svg element, well-formed XML, 900 units wide, in colours for light and
// dark pages.
std::string roofline_svg(const RooflineChart& chart);
// Draws ASCII text of `columns` by `rows` characters with three lines of legend below.
std::string roofline_text(const RooflineChart& chart, int columns = 78, int rows = 18);

}  // namespace cupilot
CUPILOT_EXPORTS_END
