// A roofline as a picture: ceilings, the kernels of a search below them, the way the best took, the
// floor. Both axes logarithmic.
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
  double intensity = 0;  // operations a DRAM byte, counted where it was, else the least possible
  double rate = 0;       // operations a second
  std::string label{};   // "slot 12: 181 us"
};

// A bandwidth (bytes a second: a slope) or a rate (operations a second: a flat roof).
struct RooflineCeiling {
  std::string name{};  // "DRAM", "bf16"
  double value = 0;
};

struct RooflineChart {
  std::string title{};   // "gemm on NVIDIA H200"
  std::string source{};  // where the ceilings come from
  std::vector<RooflineCeiling> slopes{}, roofs{};
  std::vector<RooflinePoint>
      population{};  // accepted kernels by slot: every one, of a long run a few thousand
  std::vector<RooflinePoint> path{};  // of those, each that was the fastest so far
  std::optional<RooflinePoint> floor{}, champion{};
};

// The ceilings of a task's class on a device, sustained where they were measured there and the
// datasheet's elsewhere, and its floor; no kernels yet.
Result<RooflineChart> roofline_of(const Task& task, const DeviceSpec& device);
// The same with the kernels of a run directory.
Result<RooflineChart> roofline_of_run(const std::string& run_dir);

// A self-contained svg element, well-formed XML, 900 units wide, colours that suit a light and a
// dark page.
std::string roofline_svg(const RooflineChart& chart);
// Plain text, `columns` by `rows` characters and three lines of legend below. ASCII.
std::string roofline_text(const RooflineChart& chart, int columns = 78, int rows = 18);

}  // namespace cupilot
CUPILOT_EXPORTS_END
