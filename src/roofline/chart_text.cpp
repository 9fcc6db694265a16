// The roofline in a terminal.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "roofline/chart.hpp"

namespace cupilot {
namespace {

constexpr int margin = 8;  // columns for the numbers of the upright axis

struct Canvas {
  ChartRange range;
  int columns, rows;
  std::vector<std::string> lines;

  // Marks that stand for more are drawn later and stay.
  void put(double intensity, double rate, char mark) {
    if (!(intensity > 0) || !(rate > 0)) return;
    const auto column = std::lround(range.across(intensity) * (columns - 1)),
               row = std::lround(range.up(rate) * (rows - 1));
    if (column < 0 || column >= columns || row < 0 || row >= rows) return;
    lines[static_cast<std::size_t>(rows - 1 - row)][static_cast<std::size_t>(margin + column)] =
        mark;
  }
};

void draw_ceilings(Canvas& canvas, const RooflineChart& chart) {
  for (int c = 0; c < canvas.columns; ++c) {
    const double intensity =
        canvas.range.intensity_at(static_cast<double>(c) / (canvas.columns - 1));
    for (const RooflineCeiling& slope : chart.slopes) {
      if (chart.roofs.empty() || slope.value * intensity < chart.roofs.front().value)
        canvas.put(intensity, slope.value * intensity, &slope == &chart.slopes.front() ? '/' : ':');
    }
    for (const RooflineCeiling& roof : chart.roofs) {
      if (chart.slopes.empty() || chart.slopes.front().value * intensity >= roof.value)
        canvas.put(intensity, roof.value, &roof == &chart.roofs.front() ? '=' : '-');
    }
  }
}

void number_axes(Canvas& canvas) {
  for (double rate = canvas.range.y_low; rate <= canvas.range.y_high * 1.001; rate *= 10) {
    const auto row = static_cast<std::size_t>(
        canvas.rows - 1 - std::lround(canvas.range.up(rate) * (canvas.rows - 1)));
    const std::string number = fmt::format("{:>6} |", short_amount(rate));
    canvas.lines[row].replace(0, margin, number);
  }
  std::string below(static_cast<std::size_t>(margin + canvas.columns + 8), ' ');
  for (double x = canvas.range.x_low; x <= canvas.range.x_high * 1.001; x *= 10) {
    const std::string number = fmt::format("{:g}", x);
    below.replace(static_cast<std::size_t>(
                      margin + std::lround(canvas.range.across(x) * (canvas.columns - 1))),
                  number.size(), number);
  }
  canvas.lines.push_back(std::string(margin - 1, ' ') + "+" +
                         std::string(static_cast<std::size_t>(canvas.columns), '-'));
  canvas.lines.push_back(below);
}

std::string legend(const RooflineChart& chart) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  for (const RooflineCeiling& slope : chart.slopes)
    add(fmt::format("{} {} {}B/s", &slope == &chart.slopes.front() ? '/' : ':', slope.name,
                    short_amount(slope.value)));
  for (const RooflineCeiling& roof : chart.roofs)
    add(fmt::format("{} {} {}op/s", &roof == &chart.roofs.front() ? '=' : '-', roof.name,
                    short_amount(roof.value)));
  text += "\n  . a kernel, o best so far";
  if (chart.champion) text += ", # champion (" + chart.champion->label + ")";
  if (chart.floor) text += ", F " + chart.floor->label;
  return text + "\n  ceilings: " + chart.source + "\n";
}

}  // namespace

std::string roofline_text(const RooflineChart& chart, int columns, int rows) {
  Canvas canvas{range_of(chart), std::max(20, columns - margin), std::max(6, rows), {}};
  canvas.lines.assign(static_cast<std::size_t>(canvas.rows),
                      std::string(margin - 1, ' ') + "|" +
                          std::string(static_cast<std::size_t>(canvas.columns), ' '));
  draw_ceilings(canvas, chart);
  for (const RooflinePoint& point : chart.population) canvas.put(point.intensity, point.rate, '.');
  for (const RooflinePoint& point : chart.path) canvas.put(point.intensity, point.rate, 'o');
  if (chart.floor) canvas.put(chart.floor->intensity, chart.floor->rate, 'F');
  if (chart.champion) canvas.put(chart.champion->intensity, chart.champion->rate, '#');
  number_axes(canvas);
  std::string text = chart.title + ": operations a second over operations a DRAM byte\n";
  for (std::string& line : canvas.lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + "  " + legend(chart);
}

}  // namespace cupilot
