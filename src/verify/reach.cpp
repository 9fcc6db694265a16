#include "verify/reach.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "kernel/plan_scope.hpp"
#include "task/axes.hpp"
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
constexpr std::size_t most_arguments = 24;        // sizes that arguments are compared with
constexpr std::size_t most_values = 6;            // that elements are compared with
constexpr double further_budget = 2 * idle_budget / 3;
constexpr std::int64_t farthest = 1 << 20;  // no axis grows beyond, unless the task's own does

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

// "PTX line 40, which no case reached"; "": all ran, and each loop turned thrice.
std::string lacking(std::span<const EntryCoverage> coverage) {
  for (const EntryCoverage& one : coverage) {
    for (const auto& part : one.instructions) {
      if (part.times == 0) return fmt::format("PTX line {}, which no case reached", part.line);
    }
  }
  for (const EntryCoverage& one : coverage) {
    for (const auto& part : one.loops) {
      if (part.times < rounds_wanted)
        return fmt::format("a third round of the loop that ends at PTX line {}", part.line);
    }
  }
  return "";
}

std::string text_of(const NamedSize& named) {
  return fmt::format("PTX line {}, which compares with {}", named.line, named.compared);
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
      left_wide_(left_),
      left_further_(level == ProofLevel::finalist ? further_budget : 0) {
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
  if (level != ProofLevel::finalist) return;
  add_further();
  add_named(ptx, met);
  add_values(ptx, met);
}

void Reach::add_named(std::string_view ptx, std::span<const Case> met) {
  const auto is_met = [&](const std::string& axis, std::int64_t size) {
    return std::any_of(met.begin(), met.end(), [&](const Case& one) {
      const auto found = one.workload.sizes.find(axis);
      return !one.sampled && found != one.workload.sizes.end() && found->second == size;
    });
  };
  std::vector<Step> asked;
  std::set<std::int64_t> numbers;
  for (const NamedSize& named : named_sizes(ptx)) {
    if (!named.of_argument) {
      numbers.insert(named.number);
      continue;
    }
    for (const Axis& axis : task_.axes) {
      const auto shape = shape_for(named, axis);
      if (!shape || is_met(axis.name, shape->sizes.at(axis.name)) ||
          std::any_of(asked.begin(), asked.end(),
                      [&](const Step& one) { return one.workload == *shape; }))
        continue;
      asked.push_back({axis.name, *shape, cost_of(*shape), false, text_of(named), true});
    }
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [](const Step& a, const Step& b) { return a.cost < b.cost; });
  double left = idle_budget;
  for (Step& step : asked) {
    const bool pays = step.cost <= left && named_.size() < most_arguments;
    if (pays) left -= step.cost;
    (pays ? named_ : too_dear_).push_back(std::move(step));
  }
  add_numbers(numbers);
}

// Sizes that are numbers of the text, the least first, whatever it compares with them.
void Reach::add_numbers(const std::set<std::int64_t>& numbers) {
  double left = named_budget;
  std::size_t taken = 0;
  for (const std::int64_t number : numbers) {
    if (taken++ == most_named) return;
    for (const Axis& axis : task_.axes) {
      if (axis.kind == AxisKind::fixed || number > largest_size(task_, axis.name)) continue;
      const auto shape = shape_of(axis.name, number);
      if (!shape || cost_of(*shape) > left) continue;
      left -= cost_of(*shape);
      named_.push_back({axis.name, *shape, cost_of(*shape), false,
                        fmt::format("the text, which compares with {}", number), false});
    }
  }
}

// Ordinary content with each of the first values that the text compares with for equality, at the
// largest of the battery's ordinary cases that is cheap.
void Reach::add_values(std::string_view ptx, std::span<const Case> met) {
  const Case* largest = nullptr;
  for (const Case& one : met) {
    const bool fits = !one.sampled && one.content.kind == ContentKind::ordinary &&
                      one.content.variation == Variation::none &&
                      cost_of(one.workload) <= named_budget;
    if (fits && (largest == nullptr || cost_of(largest->workload) < cost_of(one.workload)))
      largest = &one;
  }
  if (largest == nullptr) return;
  std::set<double> values;
  for (const NamedValue& named : named_values(ptx)) {
    if (values.size() == most_values || !values.insert(named.value).second) continue;
    values_.push_back(
        {.workload = largest->workload, .content = {.seed = seed_, .held = named.value}});
  }
}

// The shape at which an axis gives the argument this value; nullopt: none does that the plan
// serves.
std::optional<Workload> Reach::shape_for(const NamedSize& named, const Axis& axis) const {
  if (axis.kind == AxisKind::fixed || is_absent(task_, axis.name)) return std::nullopt;
  const std::int64_t most = std::max(farthest, largest_size(task_, axis.name));
  const auto launch = std::find_if(source_.plan.launches.begin(), source_.plan.launches.end(),
                                   [&](const PlanLaunch& one) { return one.entry == named.entry; });
  const auto place = static_cast<std::size_t>(named.argument);
  const bool known = launch != source_.plan.launches.end() && named.argument >= 0 &&
                     place < launch->args.size() &&
                     launch->args[place].kind != PlanArgument::Kind::record;
  const auto at = [&](std::int64_t size) -> std::optional<std::int64_t> {
    const auto shape = shape_of(axis.name, size);
    if (!shape || shape->sizes.at(axis.name) != size) return std::nullopt;
    if (!known) return size;
    PlanScope scope(source_.plan, source_.constants, task_, *shape, device_, nullptr);
    const ExprValue value = scope.value(launch->args[place].value);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  if (known && launch->args[place].kind == PlanArgument::Kind::name) return std::nullopt;
  constexpr std::int64_t units[] = {64, 1024, 1};  // some plans serve multiples alone
  for (const std::int64_t unit : units) {
    std::int64_t size = named.number;
    if (known) {
      const auto low = at(unit), high = at(2 * unit);
      if (!low || !high || *low >= *high) continue;
      size = unit + (named.number - *low) * unit / (*high - *low);
    }
    if (size >= 1 && size <= most && at(size) == named.number) return shape_of(axis.name, size);
  }
  return std::nullopt;
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
    if (step && step->cost > idle_budget) cut_.push_back(*step);
    while (step && step->cost > idle_budget && size > met + met / 2) {
      size -= std::max<std::int64_t>(1, size / 4);
      step = step_of(axis.name, size);
    }
    if (!step || step->cost > idle_budget || size <= met) break;
    ladder_.push_back(std::move(*step));
    met = size;
  }
}

// Four times what the task asks for, three times: there loops turn that do not at its own sizes.
void Reach::add_further() {
  std::map<std::string, std::int64_t> sizes;
  for (const Axis& axis : task_.axes) {
    if (axis.kind != AxisKind::fixed && !is_absent(task_, axis.name))
      sizes[axis.name] = largest_size(task_, axis.name);
  }
  for (int times = 0; times < 3; ++times) {
    for (auto& [axis, size] : sizes) {
      if (size > farthest) continue;
      size = 4 * size + 1;
      const std::optional<Step> step = step_of(axis, size);
      if (step && step->cost <= further_budget) further_.push_back(*step);
    }
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
    last_ = std::move(named_.back());
    named_.pop_back();
    return Case{.workload = last_.workload, .content = {.seed = seed_}};
  }
  if (!coverage.empty() && !values_.empty()) {
    const Case next = std::move(values_.back());
    values_.pop_back();
    last_ = {.axis = "", .workload = next.workload};
    return next;
  }
  // A run that reached more costs nothing.
  if (!before_.empty() && reached(coverage) > reached(before_) && paid_ != nullptr)
    *paid_ += last_.cost;
  before_.assign(coverage.begin(), coverage.end());
  paid_ = nullptr;
  if (coverage.empty()) return std::nullopt;
  if (!covers_all(coverage)) {
    if (pays(ladder_, left_)) return take(ladder_, left_);
    if (pays(further_, left_further_)) return take(further_, left_further_);
  }
  return next_wide(coverage);
}

// Leaves out steps that are found to cost more than what is left.
bool Reach::pays(std::vector<Step>& steps, double left) {
  while (!steps.empty()) {
    Step& first = steps.front();
    if (!first.beyond) first.cost = std::max(first.cost, cost_of_step(first.axis, first.workload));
    if (first.cost <= left) return true;
    if (&steps == &ladder_) cut_.push_back(first);
    steps.erase(steps.begin());
  }
  return false;
}

// The first of `steps`, paid from `left`.
std::optional<Case> Reach::take(std::vector<Step>& steps, double& left) {
  last_ = std::move(steps.front());
  last_.asked_by = lacking(before_);
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
  last_ = std::move(largest_.back());
  largest_.pop_back();
  return Case{.workload = last_.workload, .content = {.seed = seed_}};
}

void Reach::give_up(const std::string& reason) {
  endless_.push_back({.what = {.workload = last_.workload, .content = {.seed = seed_}},
                      .asked_by = last_.asked_by,
                      .reason = reason,
                      .begun = true,
                      .named = last_.named});
}

std::vector<CaseLeftOut> Reach::left_out(std::span<const EntryCoverage> coverage) const {
  std::vector<CaseLeftOut> out = endless_;
  const auto add = [&](const Step& step, const std::string& asked_by, const std::string& reason) {
    out.push_back({.what = {.workload = step.workload, .content = {.seed = seed_}},
                   .asked_by = asked_by,
                   .reason = reason,
                   .begun = false,
                   .named = step.named});
  };
  for (const Step& step : too_dear_)
    add(step, step.asked_by,
        step.cost > idle_budget
            ? fmt::format("it is priced at {:.2g} padded multiply-adds, above the {:.2g} granted",
                          step.cost, idle_budget)
            : "other such sizes took what is granted");
  std::set<std::string> axes;
  for (const Step& step : cut_) {
    if (covers_all(coverage) || !axes.insert(step.axis).second) continue;
    add(step, lacking(coverage),
        fmt::format("it is priced at {:.2g} padded multiply-adds, above what is left of {:.2g}",
                    step.cost, idle_budget));
  }
  return out;
}

}  // namespace cupilot
