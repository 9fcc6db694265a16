#include "verify/shapes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/plan_scope.hpp"
#include "task/axes.hpp"
#include "task/extents.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

bool is_absent(const Task& task, const std::string& axis) {
  const auto one = [&](const Workload& shape) {
    const auto size = shape.sizes.find(axis);
    return size != shape.sizes.end() && size->second == 1;
  };
  return std::all_of(task.time_shapes.begin(), task.time_shapes.end(), one) &&
         std::all_of(task.check_shapes.begin(), task.check_shapes.end(), one);
}

namespace {

// A size as `tiles` whole steps and `extra` elements; `prime`: the next prime from there.
struct Mark {
  std::int64_t tiles = 1, extra = 0;
  bool prime = false;
};

bool is_prime(std::int64_t n) {
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

std::int64_t size_of(const Mark& mark, std::int64_t step) {
  std::int64_t size = std::max<std::int64_t>(1, mark.tiles * step + mark.extra);
  while (mark.prime && !is_prime(size)) ++size;
  return size;
}

// One row of the table below: marks of the free axes, which alternate between two, and of the
// reduced ones; the size of an axis that is not tiled (a batch).
struct AxisRow {
  Mark first, second;
  Mark reduced;
  std::int64_t untiled;
};

}  // namespace

namespace {

bool spans(const Tensor& output, const std::string& axis) {
  return std::find(output.shape.begin(), output.shape.end(), Expr(axis)) != output.shape.end();
}

// True if an output's elements are made of what lies along an axis. Of several outputs each says
// by its check's length which axes it sums over; one that says nothing may be made of any.
bool depends_on(const Task& task, const Tensor& output, const std::string& axis) {
  const auto is_output = [](const Tensor& one) {
    return one.role == Role::out || one.role == Role::in_out;
  };
  if (std::count_if(task.tensors.begin(), task.tensors.end(), is_output) == 1) return true;
  const auto in_shape = [&](const std::string& name) {
    return std::any_of(output.shape.begin(), output.shape.end(),
                       [&](const Expr& extent) { return names_axis(extent, name); });
  };
  const bool told = std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& one) {
    return names_axis(output.check.length, one.name);
  });
  return in_shape(axis) || names_axis(output.check.length, axis) ||
         (!told && output.check.kind != CheckKind::within);
}

// A warp takes as long to begin, look for work and end as so many padded multiply-adds.
constexpr double begun_warp = 300;
// A number that a reference leaves takes as long to find its place and to be made, written and
// compared as so many terms.
constexpr double left_number = 16;

// Returns how many elements an output has for each point of the axes that its shape names, at least
// one: more than one where extents are numbers or products.
double elements_a_point(const Task& task, const Workload& workload, const Tensor& output) {
  const auto shape = shape_of(task, output, workload);
  if (!shape) return 1;
  double points = 1;
  for (const auto& axis : workload.sizes) {
    const bool named = std::any_of(output.shape.begin(), output.shape.end(),
                                   [&](const Expr& one) { return names_axis(one, axis.first); });
    if (named) points *= static_cast<double>(axis.second);
  }
  return std::max(1.0, static_cast<double>(shape->elements) / points);
}

// The elements of the iteration space that an output's reference walks.
double output_cost(const Task& task, const PlanSteps& steps, const Workload& workload,
                   const Tensor& output) {
  double cost = elements_a_point(task, workload, output);
  for (const Axis& axis : task.axes) {
    const auto size = workload.sizes.find(axis.name);
    if (size == workload.sizes.end() || !depends_on(task, output, axis.name)) continue;
    cost *= static_cast<double>(round_up(size->second, steps.step(axis.name)));
    // The reference sums a row anew for every element of it.
    if (axis.kind == AxisKind::reduced && spans(output, axis.name))
      cost *= static_cast<double>(size->second);
  }
  return cost;
}

}  // namespace

double reference_price(const Task& task, const Workload& workload) {
  const ReferenceWork work = reference_work(task, workload);
  return work.terms + left_number * work.numbers;
}

double padded_cost(const Task& task, const PlanSteps& steps, const Workload& workload) {
  if (!task.reference.stages.empty()) {
    Workload padded = workload;
    padded.sizes = steps.padded(workload.sizes);
    return reference_terms(task, padded);
  }
  double cost = 0;
  for (const Tensor& output : task.tensors) {
    if (output.role == Role::out || output.role == Role::in_out)
      cost += output_cost(task, steps, workload, output);
  }
  // Content of inputs is made, too.
  for (const Tensor& tensor : task.tensors) {
    const auto shape = shape_of(task, tensor, workload);
    if (shape) cost = std::max(cost, static_cast<double>(shape->elements));
  }
  return std::max(cost, 1.0);
}

double product_of(PlanScope& scope, const std::vector<Expr>& sides) {
  double product = 1;
  for (const Expr& side : sides) {
    const ExprValue value = scope.value(side);
    if (const auto* number = std::get_if<std::int64_t>(&value))
      product *= static_cast<double>(*number);
  }
  return product;
}

double run_cost(const Task& task, const KernelSource& source, const DeviceSpec& device,
                const PlanSteps& steps, const Workload& workload) {
  PlanScope scope(source.plan, source.constants, task, workload, device, nullptr);
  double warps = 0;
  for (const PlanLaunch& launch : source.plan.launches)
    warps += product_of(scope, launch.grid) * std::max(1.0, product_of(scope, launch.block) / 32);
  return std::max(padded_cost(task, steps, workload), begun_warp * warps);
}

namespace {

// The shape with axes grown together, none beyond a shape to be timed, until every tensor has
// elements: a window may be larger than its input.
std::optional<Workload> with_sizes(const Task& task, const Workload& wanted) {
  if (has_sizes(task, wanted)) return wanted;
  if (task.time_shapes.empty()) return std::nullopt;
  constexpr std::int64_t most = 1 << 12;
  for (std::int64_t more = 1; more <= most; more += more < 16 ? 1 : more) {
    Workload grown = wanted;
    for (auto& [axis, size] : grown.sizes) {
      const auto timed = task.time_shapes.front().sizes.find(axis);
      if (timed != task.time_shapes.front().sizes.end())
        size = std::max(size, std::min(size + more, timed->second));
    }
    if (has_sizes(task, grown)) return grown;
  }
  return std::nullopt;
}

// Rounds each axis up to one of its steps, the small ones first; nullopt: few choices were tried,
// and the plan takes none of them.
std::optional<Workload> of_steps(const Task& task, const PlanRequirements& requirements,
                                 const PlanSteps& steps, const Workload& wanted) {
  constexpr std::size_t most = 64;
  for (std::size_t choice = 0; choice < most; ++choice) {
    Workload rounded = wanted;
    std::size_t left = choice;
    for (const Axis& axis : task.axes) {
      const auto known = steps.by_axis.find(axis.name);
      if (axis.kind == AxisKind::fixed || known == steps.by_axis.end() || known->second.empty())
        continue;
      std::int64_t& size = rounded.sizes[axis.name];
      const std::size_t count = known->second.size();
      if (size != 1 || !is_absent(task, axis.name))
        size = round_up(size, known->second[left % count]);
      left /= count;
    }
    if (left > 0) break;
    if (requirements.hold(rounded) && has_sizes(task, rounded)) return rounded;
  }
  return std::nullopt;
}

}  // namespace

// A plan that needs facts of compiling, or fails otherwise, is judged where it is run.
std::optional<Workload> fitting(const Task& task, const PlanRequirements& requirements,
                                const PlanSteps& steps, const Workload& asked) {
  const auto sized = with_sizes(task, asked);
  if (!sized) return std::nullopt;
  const Workload& wanted = *sized;
  if (requirements.hold(wanted)) return wanted;
  // Reduced axes first: vector loads along them are the usual requirement.
  for (const bool all : {false, true}) {
    for (const std::int64_t unit : {4, 8, 16, 0}) {
      if (all && unit == 0) {
        if (auto near = of_steps(task, requirements, steps, wanted)) return near;
      }
      Workload rounded = wanted;
      for (const Axis& axis : task.axes) {
        if (axis.kind == AxisKind::fixed || (!all && axis.kind != AxisKind::reduced)) continue;
        std::int64_t& size = rounded.sizes[axis.name];
        if (size != 1 || !is_absent(task, axis.name))
          size = round_up(size, unit == 0 ? steps.step(axis.name) : unit);
      }
      if (requirements.hold(rounded) && has_sizes(task, rounded)) return rounded;
    }
  }
  return std::nullopt;
}

std::vector<Workload> boundary_shapes(const Task& task, const PlanSteps& steps) {
  const std::int64_t depth = steps.stages;
  const std::int64_t parts = steps.split;
  const std::vector<AxisRow> rows = {
      {{1, 0}, {1, 0}, {depth + 2, 0}, 1},  // whole tiles, several slabs
      {{1, 1}, {1, -1}, {depth, 1}, 2},  // one element over, one short, a full pipeline and a tail
      {{1, -1}, {1, 1}, {1, -1}, 1},     // less than a slab
      {{2, 1}, {1, 8}, {1, 1}, 1},       // several tiles; ragged but aligned
      {{1, 0},
       {1, 8},
       {2 * parts, parts > 1 ? 1 : 3},
       2},  // every part of a split has work, the last a tail; of two tiles of two matrices
      {{0, 1}, {1, 1}, {2, 8}, 3},      // one row
      {{1, 8}, {0, 1}, {depth, 0}, 1},  // one column, exactly a full pipeline
      {{0, 1}, {0, 1}, {0, 1}, 1},      // one element
      {{0, 2}, {0, 2}, {0, 2}, 2},
      {{1, 3, true}, {0, 7, true}, {1, 5, true}, 1},  // primes
      {{3, 5}, {2, 3}, {1, 3}, 1},                    // many tiles
  };
  std::vector<Workload> shapes;
  for (const AxisRow& row : rows) {
    Workload shape;
    int turn = 0;
    for (const Axis& axis : task.axes) {
      const std::int64_t step = steps.shaping_step(axis.name);
      std::int64_t& size = shape.sizes[axis.name];
      if (axis.kind == AxisKind::fixed || task.time_shapes.empty()) {
        size = task.time_shapes.empty() ? 1 : task.time_shapes.front().sizes.at(axis.name);
      } else if (is_absent(task, axis.name)) {
        size = 1;
      } else if (axis.kind == AxisKind::reduced) {
        size = size_of(row.reduced, step);
      } else if (step == 1 && !steps.tells(axis.name)) {
        size = row.untiled;
      } else {
        size = size_of(turn++ % 2 == 0 ? row.first : row.second, step);
      }
    }
    shapes.push_back(shape);
  }
  return shapes;
}

// A repeat poisons the outputs, runs, and compares them with those of the first run.
int finalist_repeats(const Task& task, const DeviceSpec& device, const Workload& shape) {
  constexpr double fewest = 40, most = 200;
  const auto bytes = compulsory_bytes(task, shape);
  const auto flops = textbook_flops(task, shape);
  const double rate = device.sustained_flops[static_cast<std::size_t>(task.precision)];
  double seconds = 0;
  if (bytes) seconds += 4 * static_cast<double>(*bytes) / device.dram_sustained;
  if (flops && rate > 0) seconds += static_cast<double>(*flops) / rate;
  return static_cast<int>(std::clamp(1 / std::max(seconds, 1e-9), fewest, most));
}

std::string large_at_the_least(const Task& task) {
  constexpr double large = 0x1p23;  // a tile of rows makes some hundred times as much of it
  Workload small = task.time_shapes.empty() ? Workload{} : task.time_shapes.front();
  for (const Axis& axis : task.axes) {
    if (axis.kind != AxisKind::fixed) small.sizes[axis.name] = 1;
  }
  std::vector<Workload> shapes = task.check_shapes;
  shapes.push_back(small);
  double least = 0;
  for (const Workload& shape : shapes) {
    const double terms = reference_terms(task, shape);
    if (terms > 0 && (least == 0 || terms < least)) least = terms;
  }
  if (least < large) return "";
  return fmt::format(
      "the smallest case of a proof combines {:.2g} terms, since numbers and fixed axes keep their "
      "size; the search is faster where large extents are axes of kind free or reduced, as in a "
      "graph's file that leaves `axes` out",
      least);
}

}  // namespace cupilot
