#include "agents/propose/starts.hpp"

#include <algorithm>

#include <functional>

#include "agents/propose/start_values.hpp"
#include "kernel/plan_scope.hpp"
#include "kernel/tunable_values.hpp"

namespace cupilot {
namespace {

// A chip whose last SMs idle is as good as full: round sizes make tiles in powers of two.
constexpr double full_enough = 0.95;

Constants constants_of(const TunableContext& context, const std::vector<std::int64_t>& values) {
  Constants constants;
  for (std::size_t p = 0; p < context.sources.size(); ++p) {
    const Source& source = context.sources[p];
    constants[context.tunable.parameters[p].constant] =
        source.knob < 0 ? source.plain : values[static_cast<std::size_t>(source.knob)];
  }
  return constants;
}

// Blocks of all launches, however few of them a chip takes at once.
std::int64_t blocks_of(const TunableContext& context, const Constants& constants,
                       const Workload& shape) {
  DeviceSpec endless = context.device;
  endless.sms = 1 << 20;
  PlanScope scope(context.tunable.plan, constants, context.task, shape, endless, nullptr);
  std::int64_t most = 0;
  for (const PlanLaunch& launch : context.tunable.plan.launches) {
    std::int64_t blocks = launch.when == When::run ? 1 : 0;
    for (const Expr& side : launch.grid) {
      const ExprValue value = scope.value(side);
      const auto* number = std::get_if<std::int64_t>(&value);
      blocks =
          number == nullptr || *number < 1 || blocks > (1ll << 40) / *number ? 0 : blocks * *number;
    }
    most = std::max(most, blocks);
  }
  return most;
}

// Restrictions on one movable knob alone: what several break together may be mended by moving
// another.
std::vector<Expr> restrictions_on_one(const TunableContext& context,
                                      const std::vector<std::size_t>& movable) {
  std::vector<Expr> alone;
  for (const Expr& expr : context.tunable.restrictions) {
    const std::vector<std::size_t> read =
        parameters_in(context, names_through_lets(context.tunable.let, {&expr}));
    const auto moves = std::count_if(read.begin(), read.end(), [&](std::size_t p) {
      const int knob = context.sources[p].knob;
      return knob >= 0 &&
             std::count(movable.begin(), movable.end(), static_cast<std::size_t>(knob)) != 0;
    });
    if (moves == 1) alone.push_back(expr);
  }
  return alone;
}

bool all_hold(const TunableContext& context, const std::vector<Expr>& restrictions,
              const Constants& constants) {
  return std::all_of(restrictions.begin(), restrictions.end(), [&](const Expr& expr) {
    const ExprValue result = context.evaluated(expr, [&](std::size_t parameter) {
      return constants.at(context.tunable.parameters[parameter].constant);
    });
    const auto* number = std::get_if<std::int64_t>(&result);
    return number != nullptr && *number != 0;
  });
}

constexpr std::int64_t far_more = 1 << 8;

using BlocksAt =
    std::function<std::int64_t(const std::vector<std::int64_t>& values, const Workload& shape)>;

// Knobs of which smaller values make more blocks, if not here then at a far larger shape: sides of
// a tile, but not the depth of a slab of K.
std::vector<std::size_t> tile_knobs(const std::vector<Knob>& knobs,
                                    const std::vector<std::size_t>& movable, const Workload& shape,
                                    const BlocksAt& blocks) {
  Workload large = shape;
  for (auto& [axis, size] : large.sizes) size *= far_more;
  std::vector<std::size_t> tiles;
  const std::vector<std::int64_t> values = fallbacks(knobs);
  for (const std::size_t k : movable) {
    const auto more = [&](std::int64_t value) {
      std::vector<std::int64_t> other = values;
      other[k] = value;
      return value < values[k] && blocks(other, large) > blocks(values, large);
    };
    if (std::any_of(knobs[k].domain.begin(), knobs[k].domain.end(), more)) tiles.push_back(k);
  }
  return tiles;
}

// The shape with every side shrunk to 1 that one tile spans: there, blocks are gained by no step
// that cuts such a tile, whose parts would read the other operand once each.
Workload without_spanned(const Workload& shape,
                         const std::function<std::int64_t(const Workload&)>& blocks) {
  Workload rest = shape;
  for (const auto& [axis, size] : shape.sizes) {
    Workload least = shape, most = shape;
    least.sizes[axis] = 1;
    most.sizes[axis] = size * far_more;
    if (blocks(least) == blocks(shape) && blocks(most) > blocks(shape)) rest.sizes[axis] = 1;
  }
  return rest;
}

// Copies by tensor maps take no registers, and one such block has an SM to itself: their ring
// starts as deep as memory lets it.
void deepen_ring(const TunableContext& context, std::vector<Knob>& knobs) {
  const auto ring = std::find_if(knobs.begin(), knobs.end(),
                                 [](const Knob& knob) { return knob.technique == "multistage"; });
  if (context.tunable.plan.maps.empty() || ring == knobs.end()) return;
  for (auto stages = ring->domain.rbegin(); stages != ring->domain.rend(); ++stages) {
    ring->fallback = *stages;
    const Constants constants = constants_of(context, fallbacks(knobs));
    if (!broken_restriction(context.limits, context.task, context.device, constants)) return;
  }
}

}  // namespace

void choose_starts(const TunableContext& context, Skeleton& skeleton) {
  if (context.task->time_shapes.empty()) return;
  std::vector<std::size_t> movable;
  std::vector<Knob> knobs = skeleton.knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (std::count(skeleton.required.begin(), skeleton.required.end(), knobs[k].technique) != 0) {
      movable.push_back(k);
      continue;
    }
    // Knobs of optional techniques start at the value that leaves them out.
    for (const Source& source : context.sources) {
      if (source.knob == static_cast<int>(k)) knobs[k].fallback = source.plain;
    }
  }
  const std::vector<Expr> alone = restrictions_on_one(context, movable);
  const BlocksAt blocks_at = [&](const std::vector<std::int64_t>& values, const Workload& shape) {
    const Constants constants = constants_of(context, values);
    return all_hold(context, alone, constants) ? blocks_of(context, constants, shape) : 0;
  };
  const Workload& shape = context.task->time_shapes[0];
  const auto blocks = [&](const auto& values) { return blocks_at(values, shape); };
  fit_tiles(knobs, tile_knobs(knobs, movable, shape, blocks_at), blocks);
  const Workload rest = without_spanned(
      shape, [&](const Workload& other) { return blocks_at(fallbacks(knobs), other); });
  const auto wanted = static_cast<std::int64_t>(full_enough * context.device.sms);
  fill_machine(
      knobs, movable, [&](const auto& values) { return blocks_at(values, rest); }, wanted);
  fill_machine(knobs, movable, blocks, wanted);
  for (const std::size_t k : movable) skeleton.knobs[k].fallback = knobs[k].fallback;
  deepen_ring(context, skeleton.knobs);
}

}  // namespace cupilot
