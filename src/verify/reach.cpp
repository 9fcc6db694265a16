#include "verify/reach.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "kernel/plan_scope.hpp"
#include "verify/plan_steps.hpp"

namespace cupilot {
namespace {

// Bounds what runs that reach nothing new cost, in padded multiply-adds.
constexpr double idle_budget = 12e6;
constexpr std::uint32_t rounds_wanted = 2;  // turns back of a loop: its second and third rounds
constexpr std::uint32_t rounds_told = 3;    // EntryCoverage::Part::times of what ran often enough
constexpr std::int64_t kept_extent = 37;    // elements of an axis that does not grow
// A warp instruction takes as long as so many padded multiply-adds.
constexpr double warp_instruction = 3;
constexpr std::size_t most_named = 8;             // sizes that a text names
constexpr double named_budget = idle_budget / 8;  // all runs at such sizes

// Numbers that the text compares whole numbers with for equality, the least first.
std::set<std::int64_t> compared_numbers(std::string_view ptx) {
  std::set<std::int64_t> numbers;
  for (std::size_t at = ptx.find("setp."); at != std::string_view::npos;
       at = ptx.find("setp.", at + 1)) {
    const std::string_view line = ptx.substr(at, ptx.find(';', at) - at);
    const std::string_view relation = line.substr(5, 2), word = line.substr(line.rfind(' ') + 1);
    const bool whole = line.find(".f", 5) == std::string_view::npos;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (whole && (relation == "eq" || relation == "ne") && error == std::errc() &&
        end == word.data() + word.size() && number > 1)
      numbers.insert(number);
  }
  return numbers;
}

std::uint64_t reached(std::span<const EntryCoverage> coverage) {
  std::uint64_t sum = 0;
  for (const EntryCoverage& one : coverage) {
    for (const auto* parts : {&one.instructions, &one.loops}) {
      for (const EntryCoverage::Part& part : *parts) sum += part.times;
    }
  }
  return sum;
}

// True if loops were turned, and sides of their branches that ran did not in three of one warp's
// rounds: what goes wrong in the next round of an outer loop would not show.
bool goes_seldom(std::span<const EntryCoverage> coverage) {
  return std::any_of(coverage.begin(), coverage.end(), [](const EntryCoverage& one) {
    return std::any_of(one.loops.begin(), one.loops.end(),
                       [](const auto& part) { return part.times >= rounds_wanted; }) &&
           std::any_of(one.instructions.begin(), one.instructions.end(),
                       [](const auto& part) { return part.times > 0 && part.times < rounds_told; });
  });
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
             ProofLevel level, std::span<const Case> met, std::string_view ptx, bool timed,
             std::span<const CaseReport> ran)
    : task_(task),
      source_(source),
      device_(device),
      steps_(plan_steps(task, source, device)),
      requirements_(source, task, device),
      left_(level == ProofLevel::finalist ? idle_budget : 0),
      left_wide_(left_) {
  if (!met.empty()) seed_ = met.front().content.seed;
  tell(ran);
  for (const Axis& axis : task.axes) {
    std::int64_t most = 1;
    for (const Case& one : met) {
      const auto size = one.workload.sizes.find(axis.name);
      if (!one.sampled && size != one.workload.sizes.end()) most = std::max(most, size->second);
    }
    if (axis.kind == AxisKind::fixed) continue;
    const std::size_t below = ladder_.size();
    add_ladder(axis, most);
    if (!timed && ladder_.size() > below) largest_.push_back(ladder_.back());
    if (level != ProofLevel::finalist) continue;
    add_wide(axis);
    if (!is_absent(task, axis.name)) add_beyond(axis);
  }
  if (level != ProofLevel::finalist) largest_.clear();
  std::stable_sort(largest_.begin(), largest_.end(),
                   [](const Step& a, const Step& b) { return a.cost > b.cost; });
  std::stable_sort(ladder_.begin(), ladder_.end(),
                   [](const Step& a, const Step& b) { return a.cost < b.cost; });
  // Remainders of what is summed over come first: there loops are unrolled.
  const auto is_reduced = [&](const Step& step) {
    return std::any_of(task.axes.begin(), task.axes.end(), [&](const Axis& axis) {
      return axis.name == step.axis && axis.kind == AxisKind::reduced;
    });
  };
  std::stable_sort(wide_.begin(), wide_.end(), [&](const Step& a, const Step& b) {
    return is_reduced(a) != is_reduced(b) ? is_reduced(a) : a.cost < b.cost;
  });
  if (level == ProofLevel::finalist) add_named(ptx);
}

void Reach::add_named(std::string_view ptx) {
  double left = named_budget;
  std::size_t taken = 0;
  for (const std::int64_t number : compared_numbers(ptx)) {
    if (taken++ == most_named) return;
    for (const Axis& axis : task_.axes) {
      if (axis.kind == AxisKind::fixed || number > largest_size(task_, axis.name)) continue;
      const auto shape = shape_of(axis.name, number);
      if (!shape || cost_of(*shape) > left) continue;
      left -= cost_of(*shape);
      named_.push_back({axis.name, *shape, cost_of(*shape)});
    }
  }
}

double Reach::cost_of(const Workload& shape) const {
  return run_cost(task_, source_, device_, steps_, shape);
}

// Prices a run that grows along an axis: at least in proportion to what the largest run of
// those with fewer elements executed. Threads that find no element of their own execute, too.
double Reach::cost_of_step(const std::string& axis, const Workload& shape) const {
  const Ran* nearest = nullptr;
  for (const Ran& one : ran_) {
    const bool within =
        std::all_of(one.workload.sizes.begin(), one.workload.sizes.end(), [&](const auto& size) {
          const auto wanted = shape.sizes.find(size.first);
          return wanted != shape.sizes.end() && size.second <= wanted->second;
        });
    if (within && one.workload.sizes.contains(axis) &&
        (nearest == nullptr || nearest->workload.sizes.at(axis) < one.workload.sizes.at(axis)))
      nearest = &one;
  }
  if (nearest == nullptr) return cost_of(shape);
  const double times = static_cast<double>(shape.sizes.at(axis)) /
                       static_cast<double>(nearest->workload.sizes.at(axis));
  return std::max(cost_of(shape), warp_instruction * nearest->instructions * times);
}

void Reach::tell(std::span<const CaseReport> ran) {
  for (const CaseReport& one : ran) {
    const double instructions = one.counts[Counter::warp_instructions].value;
    if (instructions > 0 && !one.what.sampled && one.what.repeats == 0)
      ran_.push_back({one.what.workload, instructions});
  }
}

// The shape with this size of one axis, the others small; nullopt: the plan does not serve it.
std::optional<Workload> Reach::shape_of(const std::string& axis, std::int64_t size) const {
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
  return fitting(task_, requirements_, steps_, wanted);
}

std::optional<Reach::Step> Reach::step_of(const std::string& axis, std::int64_t size) const {
  const auto shape = shape_of(axis, size);
  if (!shape) return std::nullopt;
  return Step{axis, *shape, cost_of_step(axis, *shape)};
}

// Four times what was met, again and again up to what the task asks for; where that is too
// expensive, what can be paid.
void Reach::add_ladder(const Axis& axis, std::int64_t met) {
  const std::int64_t most = largest_size(task_, axis.name);
  for (std::int64_t size = met; size < most;) {
    size = std::min(4 * size + 1, most);
    std::optional<Step> step = step_of(axis.name, size);
    while (step && step->cost > idle_budget && size > met + met / 2) {
      size -= std::max<std::int64_t>(1, size / 4);
      step = step_of(axis.name, size);
    }
    if (!step || step->cost > idle_budget || size <= met) break;
    ladder_.push_back(std::move(*step));
    met = size;
  }
}

// Blocks of all launches at this size of an axis; 0: the plan does not serve it.
double Reach::blocks_at(const std::string& axis, std::int64_t size) const {
  const auto shape = shape_of(axis, size);
  if (!shape) return 0;
  PlanScope scope(source_.plan, source_.constants, task_, *shape, device_, nullptr);
  double sum = 0;
  for (const PlanLaunch& launch : source_.plan.launches) sum += product_of(scope, launch.grid);
  return sum;
}

// A grid such as min(rows, 8 * dev.sms), which the task's sizes leave below its bound: blocks take
// no second item at any of them, as they do at other sizes. Adds a size at which they take a third
// one, all but those of a last tile, or a second; where both are too expensive, one at which some
// take a second. An item may be a tile of several units of the axis.
void Reach::add_beyond(const Axis& axis) {
  constexpr std::int64_t farthest = 1 << 20;
  std::int64_t below = largest_size(task_, axis.name), bound = 0;
  if (blocks_at(axis.name, below) >= blocks_at(axis.name, 2 * below)) return;
  for (; bound == 0 && below < farthest; below *= 2) {
    const double blocks = blocks_at(axis.name, 2 * below);
    if (blocks > 0 && blocks == blocks_at(axis.name, 4 * below)) bound = 2 * below;
  }
  if (bound == 0) return;
  const double most = blocks_at(axis.name, bound);
  for (below = bound / 2; bound - below > 1;) {
    const std::int64_t middle = below + (bound - below) / 2;
    (blocks_at(axis.name, middle) < most ? below : bound) = middle;
  }
  for (const std::int64_t size : {3 * bound + 1, 2 * bound + 1, bound + bound / 8 + 1}) {
    const auto shape = shape_of(axis.name, size);
    if (!shape || cost_of(*shape) > idle_budget) continue;
    ladder_.push_back({axis.name, *shape, cost_of(*shape), true});
    return;
  }
}

// Quarters of the axis, which leave other remainders of tiles and of unrolled rounds, with all
// other axes at their largest, or less of them all where that is expensive.
void Reach::add_wide(const Axis& axis) {
  const std::int64_t most = largest_size(task_, axis.name);
  for (std::int64_t part = 1; part < 4 && most >= 4; ++part) {
    for (double share = 1; share > 0.1; share *= 0.75) {
      Workload wanted;
      for (const Axis& one : task_.axes) {
        const auto size = static_cast<double>(largest_size(task_, one.name));
        wanted.sizes[one.name] =
            one.name == axis.name ? most * part / 4
            : one.kind == AxisKind::fixed
                ? static_cast<std::int64_t>(size)
                : std::max<std::int64_t>(1, static_cast<std::int64_t>(size * share));
      }
      const auto shape = fitting(task_, requirements_, steps_, wanted);
      if (!shape) break;
      const double cost = cost_of(*shape);
      if (cost > idle_budget) continue;
      wide_.push_back({axis.name, *shape, cost});
      break;
    }
  }
}

std::optional<Case> Reach::next(std::span<const EntryCoverage> coverage) {
  if (!coverage.empty() && !named_.empty()) {
    const Workload shape = std::move(named_.back().workload);
    named_.pop_back();
    return Case{.workload = shape, .content = {.seed = seed_}};
  }
  // A run that reached more costs nothing.
  if (!before_.empty() && reached(coverage) > reached(before_) && paid_ != nullptr)
    *paid_ += last_.cost;
  before_.assign(coverage.begin(), coverage.end());
  paid_ = nullptr;
  if (coverage.empty()) return std::nullopt;
  if (covers_all(coverage) || !pays_a_step()) return next_wide(coverage);
  return take(ladder_, left_);
}

// Leaves out steps that are found to cost more than what is left.
bool Reach::pays_a_step() {
  while (!ladder_.empty()) {
    Step& first = ladder_.front();
    if (!first.beyond) first.cost = std::max(first.cost, cost_of_step(first.axis, first.workload));
    if (first.cost <= left_) return true;
    ladder_.erase(ladder_.begin());
  }
  return false;
}

// The first of `steps`, paid from `left`.
std::optional<Case> Reach::take(std::vector<Step>& steps, double& left) {
  last_ = std::move(steps.front());
  steps.erase(steps.begin());
  left -= last_.cost;
  paid_ = &left;
  std::erase_if(largest_, [&](const Step& one) { return one.workload == last_.workload; });
  return Case{.workload = last_.workload, .content = {.seed = seed_}};
}

std::optional<Case> Reach::next_wide(std::span<const EntryCoverage> coverage) {
  std::erase_if(wide_, [&](const Step& one) { return one.cost > left_wide_; });
  if (!goes_seldom(coverage) || wide_.empty()) return next_largest();
  return take(wide_, left_wide_);
}

std::optional<Case> Reach::next_largest() {
  if (largest_.empty()) return std::nullopt;
  const Step step = std::move(largest_.back());
  largest_.pop_back();
  return Case{.workload = step.workload, .content = {.seed = seed_}};
}

}  // namespace cupilot
