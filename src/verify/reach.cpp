#include "verify/reach.hpp"

#include <algorithm>

#include "verify/plan_steps.hpp"

namespace cupilot {
namespace {

// Bounds what runs that reach nothing new cost, in padded multiply-adds.
constexpr double idle_budget = 12e6;
constexpr std::uint32_t rounds_wanted = 2;  // turns back of a loop: its second and third rounds
constexpr std::int64_t kept_extent = 37;    // elements of an axis that does not grow

std::uint64_t reached(std::span<const EntryCoverage> coverage) {
  std::uint64_t sum = 0;
  for (const EntryCoverage& one : coverage) {
    for (const auto* parts : {&one.instructions, &one.loops}) {
      for (const EntryCoverage::Part& part : *parts) sum += part.times;
    }
  }
  return sum;
}

}  // namespace

bool covers_all(std::span<const EntryCoverage> coverage) {
  return std::all_of(coverage.begin(), coverage.end(), [](const EntryCoverage& one) {
    return std::all_of(one.instructions.begin(), one.instructions.end(),
                       [](const auto& part) { return part.times > 0; }) &&
           std::all_of(one.loops.begin(), one.loops.end(),
                       [](const auto& part) { return part.times >= rounds_wanted; });
  });
}

void add_coverage(std::vector<EntryCoverage>& into, std::span<const EntryCoverage> more) {
  for (const EntryCoverage& one : more) {
    const auto known = std::find_if(into.begin(), into.end(), [&](const EntryCoverage& other) {
      return other.entry == one.entry;
    });
    if (known == into.end()) {
      into.push_back(one);
      continue;
    }
    const auto merge = [](std::vector<EntryCoverage::Part>& parts, const auto& others) {
      for (std::size_t i = 0; i < std::min(parts.size(), others.size()); ++i)
        parts[i].times = std::max(parts[i].times, others[i].times);
    };
    merge(known->instructions, one.instructions);
    merge(known->loops, one.loops);
  }
}

Reach::Reach(const Task& task, const KernelSource& source, const DeviceSpec& device,
             ProofLevel level, std::span<const Case> met)
    : task_(task),
      steps_(plan_steps(task, source, device)),
      requirements_(source, task, device),
      left_(level == ProofLevel::finalist ? idle_budget : 0) {
  if (!met.empty()) seed_ = met.front().content.seed;
  for (const Axis& axis : task.axes) {
    std::int64_t most = 1;
    for (const Case& one : met) {
      const auto size = one.workload.sizes.find(axis.name);
      if (!one.sampled && size != one.workload.sizes.end()) most = std::max(most, size->second);
    }
    if (axis.kind != AxisKind::fixed) add_ladder(axis, most);
  }
  std::stable_sort(ladder_.begin(), ladder_.end(),
                   [](const Step& a, const Step& b) { return a.cost < b.cost; });
}

std::optional<Reach::Step> Reach::step_of(const std::string& axis, std::int64_t size) const {
  Workload wanted;
  for (const Axis& one : task_.axes) {
    const std::int64_t most = largest_size(task_, one.name);
    const std::int64_t usual =
        one.kind == AxisKind::fixed
            ? (task_.time_shapes.empty() ? 1 : task_.time_shapes.front().sizes.at(one.name))
        : one.kind == AxisKind::reduced ? kept_extent
                                        : 1;
    wanted.sizes[one.name] = one.name == axis ? size : std::min(usual, most);
  }
  const auto shape = fitting(task_, requirements_, steps_, wanted);
  if (!shape) return std::nullopt;
  return Step{axis, *shape, padded_cost(task_, steps_, *shape)};
}

// Four times what was met, again and again up to what the task asks for; where that is too
// expensive, what can be paid.
void Reach::add_ladder(const Axis& axis, std::int64_t met) {
  const std::int64_t most = largest_size(task_, axis.name);
  for (std::int64_t size = met; size < most;) {
    size = std::min(4 * size + 1, most);
    std::optional<Step> step = step_of(axis.name, size);
    while (step && step->cost > idle_budget && size > met + met / 2) {
      size -= size / 4;
      step = step_of(axis.name, size);
    }
    const bool expensive = !step || step->cost > idle_budget;
    if (!expensive) ladder_.push_back(std::move(*step));
    if (expensive || size < met) break;
    met = size;
  }
}

std::optional<Case> Reach::next(std::span<const EntryCoverage> coverage) {
  // A run that reached more costs nothing.
  if (!before_.empty() && reached(coverage) > reached(before_)) left_ += last_.cost;
  before_.assign(coverage.begin(), coverage.end());
  if (coverage.empty() || covers_all(coverage)) return std::nullopt;
  if (ladder_.empty() || ladder_.front().cost > left_) return std::nullopt;
  last_ = std::move(ladder_.front());
  ladder_.erase(ladder_.begin());
  left_ -= last_.cost;
  return Case{.workload = last_.workload, .content = {.seed = seed_}};
}

}  // namespace cupilot
