// Shared by the chart's two forms: the ranges of its axes and the roof itself.
#pragma once

#include <string>

#include <cupilot/parts/roofline_chart.hpp>

namespace cupilot {

struct ChartRange {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
  // Shares of the logarithmic axes, 0 at the low ends.
  double across(double intensity) const;
  double up(double rate) const;
  double intensity_at(double share) const;
};
// From a power of ten below all points and every corner of the roof to twice the last of them.
ChartRange range_of(const RooflineChart& chart);

// The least of the fastest slope and the highest roof at an intensity.
double roof_at(const RooflineChart& chart, double intensity);

// "989 T", "1.2 G".
std::string short_amount(double value);

}  // namespace cupilot
