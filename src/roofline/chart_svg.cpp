// The roofline as SVG, well-formed XML.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/markup.hpp"
#include "roofline/chart.hpp"

namespace cupilot {
namespace {

constexpr double left = 70, right = 880, top = 20, bottom = 420;

struct Frame {
  ChartRange range;
  double x(double intensity) const { return left + (right - left) * range.across(intensity); }
  double y(double rate) const { return bottom - (bottom - top) * range.up(rate); }
};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)"
                     "\n",
                     x1, y1, x2, y2, style);
}

std::string text(double x, double y, const std::string& words, const char* style = "") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" {}>{}</text>)"
                     "\n",
                     x, y, style, escaped(words));
}

std::string axes(const Frame& frame) {
  std::string svg;
  for (double x = frame.range.x_low; x <= frame.range.x_high * 1.001; x *= 10) {
    svg += line(frame.x(x), top, frame.x(x), bottom, R"(stroke="currentColor" opacity="0.15")");
    svg += text(frame.x(x), bottom + 16, fmt::format("{:g}", x), R"(text-anchor="middle")");
  }
  for (double y = frame.range.y_low; y <= frame.range.y_high * 1.001; y *= 10) {
    svg += line(left, frame.y(y), right, frame.y(y), R"(stroke="currentColor" opacity="0.15")");
    svg += text(left - 6, frame.y(y) + 4, short_amount(y), R"(text-anchor="end")");
  }
  svg += text((left + right) / 2, bottom + 34, "operations a DRAM byte", R"(text-anchor="middle")");
  return svg + text(left, top - 6, "operations a second");
}

// A slope up to the highest roof, a roof from the first slope on.
std::string ceilings(const Frame& frame, const RooflineChart& chart) {
  std::string svg;
  const double most = chart.roofs.empty() ? frame.range.y_high : chart.roofs.front().value;
  for (const RooflineCeiling& slope : chart.slopes) {
    const double from = std::max(frame.range.x_low, frame.range.y_low / slope.value);
    const double to = std::min(frame.range.x_high, most / slope.value);
    if (to <= from) continue;
    const bool first = &slope == &chart.slopes.front();
    svg += line(
        frame.x(from), frame.y(slope.value * from), frame.x(to), frame.y(slope.value * to),
        first ? R"(stroke="#c60" stroke-width="2")" : R"(stroke="#c60" stroke-dasharray="6 4")");
    svg += text(frame.x(from) + 8, frame.y(slope.value * from) - 10,
                fmt::format("{} {}B/s", slope.name, short_amount(slope.value)));
  }
  for (const RooflineCeiling& roof : chart.roofs) {
    const double from = chart.slopes.empty() ? frame.range.x_low
                                             : std::clamp(roof.value / chart.slopes.front().value,
                                                          frame.range.x_low, frame.range.x_high);
    const bool first = &roof == &chart.roofs.front();
    svg += line(
        frame.x(from), frame.y(roof.value), right, frame.y(roof.value),
        first ? R"(stroke="#c60" stroke-width="2")" : R"(stroke="#c60" stroke-dasharray="6 4")");
    svg +=
        text(right, frame.y(roof.value) - 5,
             fmt::format("{} {}op/s", roof.name, short_amount(roof.value)), R"(text-anchor="end")");
  }
  return svg;
}

std::string dot(const Frame& frame, const RooflinePoint& point, const char* style) {
  if (!(point.intensity > 0) || !(point.rate > 0) || !std::isfinite(point.rate)) return "";
  return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" {}><title>{}</title></circle>)"
                     "\n",
                     frame.x(point.intensity), frame.y(point.rate), style, escaped(point.label));
}

}  // namespace

std::string roofline_svg(const RooflineChart& chart) {
  const Frame frame{range_of(chart)};
  std::string svg =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 460" role="img" )"
                  R"(aria-label="roofline: {}" font-size="12" fill="currentColor">)"
                  "\n",
                  escaped(chart.title));
  svg += axes(frame) + ceilings(frame, chart);
  for (const RooflinePoint& point : chart.population)
    svg += dot(frame, point, R"(r="2.5" fill="#47a" opacity="0.5")");
  std::string path;
  for (const RooflinePoint& point : chart.path)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x(point.intensity),
                        frame.y(point.rate));
  if (!path.empty())
    svg += fmt::format(R"(<path d="{}" fill="none" stroke="#47a" stroke-width="1.5"/>)"
                       "\n",
                       path);
  for (const RooflinePoint& point : chart.path) svg += dot(frame, point, R"(r="3.5" fill="#47a")");
  if (chart.floor)
    svg += dot(frame, *chart.floor, R"(r="5" fill="none" stroke="#c60" stroke-width="2")");
  if (chart.champion) svg += dot(frame, *chart.champion, R"(r="6" fill="#283")");
  return svg + "</svg>\n";
}

}  // namespace cupilot
