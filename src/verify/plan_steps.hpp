// The granularity a plan works in along each axis of a task: tile sides, slab depths, split counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The step that an axis is padded to in a price, and the axes that stand before it in each product
// that this step divides.
struct Padding {
  std::int64_t step = 1;
  std::vector<std::string> before{};
};

struct PlanSteps {
  std::map<std::string, std::vector<std::int64_t>>
      by_axis;  // ascending; 1: of a free axis that the grid takes by ones
  // A step to shape by where the plan tells none; axes without one (batches) are taken by ones.
  std::map<std::string, std::int64_t> assumed;
  std::map<std::string, Padding> padding;  // of the axes that the plan steps
  std::int64_t stages = 1;                 // pipeline depth: constants named …stage…
  std::int64_t split = 1;                  // parts of the reduced axis: constants named …split…
  std::int64_t group = 1;                  // tiles a raster group: constants named …group…

  bool tells(const std::string& axis) const;
  // The largest step of an axis, 1 where none is known.
  std::int64_t step(const std::string& axis) const;
  // The sizes that the plan's work is padded to: of a product of axes the whole is a multiple of
  // the last one's step, and the others are not padded.
  Sizes padded(const Sizes& sizes) const;
  // step, or what is assumed in its place.
  std::int64_t shaping_step(const std::string& axis) const;
};

// The largest size that the task asks of an axis, in any of its shapes; 1 where it asks none.
std::int64_t largest_size(const Task& task, const std::string& axis);

// Read off every cdiv, up, / and % of an axis by a number in the plan; of a product of axes, the
// last is stepped. An axis with none gets the plan's other constants, but for a free one that is
// the grid's length.
PlanSteps plan_steps(const Task& task, const KernelSource& source, const DeviceSpec& device);

}  // namespace cupilot
