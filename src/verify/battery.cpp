// Which runs prove a kernel.
#include <algorithm>
#include <cupilot/parts/verification.hpp>
#include <cupilot/rng.hpp>
#include <span>
#include <utility>

#include "task/axes.hpp"
#include "task/content.hpp"
#include "task/reference/stage_plan.hpp"
#include "verify/extremes.hpp"
#include "verify/full_contents.hpp"
#include "verify/ratios.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

// Padded multiply-adds (elements of the iteration space) a level may cost where every one is
// interpreted.
double interpreted_budget(ProofLevel level) {
  switch (level) {
    case ProofLevel::candidate:
      return 24e6;
    case ProofLevel::elite:
      return 60e6;
    default:
      return 120e6;
  }
}
constexpr double real_budget = 4e9;
constexpr std::int64_t few_lines = 3;  // lines, where more are too expensive
// So many budgets are beyond a virtual device, for a case that is taken whatever it costs too, and
// so many for all cases.
constexpr double beyond = 2, all_beyond = 4;
// Taken whatever they cost.
constexpr std::size_t least_cases = 3;
// Above this many elements a full-size output is compared by draws.
constexpr std::int64_t compared_in_full = 1ll << 26;
constexpr std::int64_t drawn = 1ll << 22;

using Kind = ContentKind;

// Cases of every candidate: dense content three times, probes twice, and one hard content for each
// cheap shape.
struct Row {
  Boundary shape;
  Kind kind;
  std::uint64_t seed = 0;  // added to the battery's
  int repeats = 0;
};
constexpr Row candidate_rows[] = {
    {Boundary::whole_tiles, Kind::ordinary},
    {Boundary::over_and_short, Kind::probe},
    {Boundary::short_and_over, Kind::ordinary, 1},
    {Boundary::several_tiles, Kind::ordinary, 2},
    {Boundary::every_split, Kind::probe, 0, 2},
    {Boundary::one_row, Kind::special},
    {Boundary::one_column, Kind::hard_line},
    {Boundary::one, Kind::ordinary},
    {Boundary::two, Kind::range_rows},
    {Boundary::primes, Kind::sparse},
};
// Further contents of an elite, on a ragged shape, most telling first for budgets that do not reach
// the end.
constexpr Kind special_kinds[] = {Kind::special,   Kind::range_rows,    Kind::integers,
                                  Kind::hard_line, Kind::constant_rows, Kind::huge_element,
                                  Kind::sparse,    Kind::mixed,         Kind::alternating,
                                  Kind::denormals, Kind::zeros,         Kind::scales};
// True for graphs that divide by what they compute; a mean divides by a count.
bool divides(const Task& task) {
  const auto strains = [](const std::string& text) {
    constexpr std::string_view by = " / ";
    for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by, at + 1)) {
      const std::string_view divisor = std::string_view(text).substr(at + by.size());
      if (!divisor.starts_with("real(double(")) return true;
    }
    return text.find("rsqrt") != std::string::npos;
  };
  return std::any_of(task.reference.stages.begin(), task.reference.stages.end(),
                     [&](const ReferenceStage& stage) {
                       return strains(stage.term) || strains(stage.finish) ||
                              std::any_of(stage.constants.begin(), stage.constants.end(),
                                          [&](const auto& one) { return strains(one.second); });
                     });
}

class Battery {
 public:
  Battery(const Task& task, const KernelSource& source, const DeviceSpec& device, ProofLevel level,
          std::uint64_t seed, bool real)
      : task_(task),
        source_(source),
        device_(device),
        level_(level),
        // A finalist meets content nobody saw before.
        seed_(level == ProofLevel::finalist ? Rng::of(seed, "finalist").next() : seed),
        real_(real),
        adds_in_fp16_(adds_in_fp16(task)),
        in_full_(contents_in_full(task)),
        telling_(are_of_counts(in_full_) ? Kind::constant_rows : Kind::integers),
        steps_(plan_steps(task, source, device)),
        requirements_(source, task, device),
        boundary_(boundary_shapes(task, steps_)),
        budget_(real ? real_budget : interpreted_budget(level)) {}

  std::vector<Case> run() {
    for (const Row& row : candidate_rows) {
      const Case wanted = wish(row.shape, row.kind, row.seed, row.repeats);
      add(row.shape == Boundary::every_split ? affordable(wanted) : wanted);
      if (row.shape == Boundary::several_tiles) check_shapes(Kind::ordinary);
    }
    if (level_ != ProofLevel::candidate && !real_) in_full();
    if (level_ != ProofLevel::candidate) special_contents();
    if (level_ != ProofLevel::candidate && !real_) varied_sizes();
    if (level_ == ProofLevel::finalist && !real_) telling_quotients();
    if (level_ != ProofLevel::candidate) variations();
    if (level_ == ProofLevel::finalist) new_seeds();
    if (level_ != ProofLevel::candidate) left_out_contents();
    if (cases_.empty()) larger_contents();
    // Nothing fits: one shape says so.
    if (cases_.empty()) cases_.push_back(wish(Boundary::whole_tiles, Kind::ordinary));
    // Cheap ones first: most wrong kernels need no more.
    std::stable_sort(cases_.begin(), cases_.end(),
                     [&](const Case& a, const Case& b) { return cost(a) < cost(b); });
    if (real_) full_size();
    if (!real_ && level_ == ProofLevel::finalist) sampled_sizes();
    return std::move(cases_);
  }

 private:
  Case wish(Boundary shape, Kind kind, std::uint64_t seed = 0, int repeats = 0) const {
    return {.workload = boundary_[static_cast<std::size_t>(shape)],
            .content = {.seed = seed_ + seed, .kind = kind},
            .repeats = repeats};
  }

  // With two matrices of a batch where that takes at most half of what is left, else with one.
  Case affordable(Case run) const {
    if (cost(run) <= budget_ * full_share) return run;
    for (const Axis& axis : task_.axes) {
      const bool untiled = steps_.shaping_step(axis.name) == 1 && !steps_.tells(axis.name);
      if (axis.kind == AxisKind::free && untiled) run.workload.sizes[axis.name] = 1;
    }
    return run;
  }

  double cost(const Case& run) const {
    const int runs = 1 + run.repeats + (run.content.variation > Variation::overlap ? 1 : 0);
    return cost(run.workload) * runs;
  }

  // Elites and finalists meet as much however many warps a plan launches; what passes the budget of
  // running so is not proved.
  double cost(const Workload& shape) const {
    const bool by_warps = !real_ && level_ == ProofLevel::candidate;
    return by_warps ? run_cost(task_, source_, device_, steps_, shape)
                    : padded_cost(task_, steps_, shape);
  }

  // Makes shapes that are too expensive cheaper, one after another, where a shape is left.
  enum class Cut { slabs, lines, planes, small, timed, few };

  // Cuts an axis of a shape to: its reduced axes to a slab and a tail; few lines of the free axes
  // that nothing tiles; few planes of the reduced axes but the last, whose product a plan walks;
  // a few dozen elements of every axis, then what the first time shape has, then a dozen, where the
  // sizes themselves are beyond a device.
  std::int64_t cut_size(const Axis& axis, Cut cut, std::int64_t size) const {
    const bool reduced = axis.kind == AxisKind::reduced;
    switch (cut) {
      case Cut::slabs:
        return reduced ? std::min(size, steps_.shaping_step(axis.name) + 1) : size;
      case Cut::lines: {
        const bool untiled = axis.kind == AxisKind::free && steps_.step(axis.name) <= 1;
        return untiled ? std::min(size, few_lines) : size;
      }
      case Cut::small:
        return axis.kind == AxisKind::fixed ? size : std::min(size, alike);
      case Cut::few:
        return axis.kind == AxisKind::fixed ? size : std::min(size, a_dozen);
      case Cut::timed:
        return task_.time_shapes.empty()
                   ? size
                   : std::min(size, task_.time_shapes.front().sizes.at(axis.name));
      default: {
        const auto last = std::find_if(task_.axes.rbegin(), task_.axes.rend(), [](const Axis& one) {
          return one.kind == AxisKind::reduced;
        });
        return reduced && axis.name != last->name ? std::min(size, few_lines) : size;
      }
    }
  }

  // True of what takes a virtual device too long to judge, alone or beside the cases so far,
  // whatever is left of the budget.
  bool is_beyond(const Workload& shape) const {
    const double budget = interpreted_budget(level_);
    return !real_ &&
           reference_price(task_, shape) > std::min(beyond * budget, all_beyond * budget - judged_);
  }

  // A shape beyond what is left of the budget is cut, or not taken at all.
  bool add(Case run) {
    if (!is_met(run.content.kind)) return true;
    Workload wanted = run.workload;
    auto shape = fitting(task_, requirements_, steps_, wanted);
    const auto is_expensive = [&] {
      run.workload = *shape;
      return cost(run) > budget_;
    };
    for (const Cut cut : {Cut::slabs, Cut::lines, Cut::planes, Cut::small, Cut::timed, Cut::few}) {
      if (!shape || (!is_beyond(*shape) && (!is_expensive() || cut >= Cut::small))) break;
      for (const Axis& axis : task_.axes)
        wanted.sizes[axis.name] = cut_size(axis, cut, wanted.sizes[axis.name]);
      if (auto less = fitting(task_, requirements_, steps_, wanted)) shape = std::move(less);
    }
    if (!shape || (is_expensive() && cases_.size() >= least_cases)) return false;
    const bool known = std::any_of(cases_.begin(), cases_.end(), [&](const Case& other) {
      return other.workload.sizes == run.workload.sizes && other.content == run.content;
    });
    if (known) return true;
    budget_ -= cost(run);
    judged_ += reference_price(task_, run.workload);
    cases_.push_back(run);
    return true;
  }

  void check_shapes(Kind kind) {
    for (const Workload& shape : task_.check_shapes)
      add({.workload = shape, .content = {.seed = seed_, .kind = kind}});
  }

  void special_contents() {
    for (const Kind kind : special_kinds) {
      if (is_met(kind)) add(wish(Boundary::over_and_short, kind));
    }
    if (is_met(Kind::scales))
      add({.workload = narrow_lines(2), .content = {.seed = seed_, .kind = Kind::scales}});
    if (seeks_extremes(task_)) {
      for (const auto& [elements, lines] : peaked)
        add({.workload = narrow_lines(elements, lines, 2),
             .content = {.seed = seed_, .kind = Kind::range_rows}});
      add(wish(Boundary::whole_tiles, Kind::range_rows));
      lone_elements();
    }
    if (selects(task_) || gives_extremes(task_))
      add({.workload = narrow_lines(1), .content = {.seed = seed_, .kind = Kind::special}});
    if (chooses_by_size(task_)) infinite_lines();
    for (const Kind kind : {Kind::probe, Kind::special}) add(wish(Boundary::whole_tiles, kind));
    add(wish(Boundary::many_tiles, Kind::ordinary));
    check_shapes(Kind::special);
    // A raster group and its ragged end.
    if (steps_.group <= 1) return;
    Workload wide = boundary_.front();
    for (const Axis& axis : task_.axes) {
      const std::int64_t step = steps_.step(axis.name);
      if (step > 1 && axis.kind == AxisKind::free) wide.sizes[axis.name] = step + 1;
      if (step > 1 && axis.kind == AxisKind::reduced) wide.sizes[axis.name] = step;
    }
    for (const Axis& axis : task_.axes) {
      const std::int64_t step = steps_.step(axis.name);
      if (step <= 1 || axis.kind != AxisKind::free) continue;
      Workload grouped = wide;
      grouped.sizes[axis.name] = step * steps_.group + 1;
      add({.workload = grouped, .content = {.seed = seed_}});
    }
  }

  // A plan whose steps are large, or are named for nothing but to be large, leaves no kind of
  // content out that a few dozen elements an axis can show, or a dozen.
  void left_out_contents() {
    auto shape = fitting(task_, requirements_, steps_, small_shape(alike));
    const auto is_dear = [&] {
      return padded_cost(task_, steps_, *shape) > interpreted_budget(level_) * small_share;
    };
    if (shape && is_dear()) shape = fitting(task_, requirements_, steps_, small_shape(a_dozen));
    if (!shape || is_dear()) return;
    for (const Kind kind : special_kinds) {
      const bool met = std::any_of(cases_.begin(), cases_.end(),
                                   [&](const Case& run) { return run.content.kind == kind; });
      if (!met && is_met(kind))
        cases_.push_back({.workload = *shape, .content = {.seed = seed_, .kind = kind}});
    }
  }

  // Contents of a candidate where a plan asks for more than a tile of an axis.
  void larger_contents() {
    for (const Row& row : candidate_rows)
      add({.workload = small_shape(alike),
           .content = {.seed = seed_ + row.seed, .kind = row.kind}});
  }

  // So many elements of each reduced axis and of the last two free ones, two of the others.
  Workload small_shape(std::int64_t elements) const {
    Workload small = boundary_.front();
    int wide = 0;
    for (auto axis = task_.axes.rbegin(); axis != task_.axes.rend(); ++axis) {
      std::int64_t& size = small.sizes[axis->name];
      if (axis->kind == AxisKind::fixed || size == 1) continue;
      size = axis->kind == AxisKind::reduced || ++wide <= 2 ? elements : 2;
    }
    return small;
  }

  // Many lines of few elements: of two, the bound of a sum of large terms still tells; of one,
  // lines hold nothing but an infinity. `more`: elements of the free axes behind the first.
  Workload narrow_lines(std::int64_t elements, std::int64_t lines = 24,
                        std::int64_t more = 24) const {
    Workload shape = boundary_.front();
    for (const Axis& axis : task_.axes) {
      std::int64_t& size = shape.sizes[axis.name];
      if (axis.kind != AxisKind::fixed && !is_absent(task_, axis.name))
        size = axis.kind == AxisKind::reduced ? elements : std::exchange(lines, more);
    }
    return shape;
  }

  // Adds one element alone, as far as drawn ones lie to each side, and an infinity to each side
  // where it is the answer: where all lines are joined, one of them is large in every other
  // content, and a search that begins with a number passes.
  void lone_elements() {
    const auto input =
        std::find_if(task_.tensors.begin(), task_.tensors.end(), [](const Tensor& one) {
          return one.role != Role::out && is_float_type(static_cast<int>(one.type));
        });
    const bool joined = std::none_of(task_.axes.begin(), task_.axes.end(), [&](const Axis& axis) {
      return axis.kind == AxisKind::free && !is_absent(task_, axis.name);
    });
    if (input == task_.tensors.end() || !joined) return;
    const auto place = static_cast<std::size_t>(input - task_.tensors.begin());
    furthest_elements(place, Kind::scales);
    if (selects(task_) || gives_extremes(task_)) furthest_elements(place, Kind::special);
  }

  // Adds lines of nothing but an infinity, of each sign: lines of one element do not exist under
  // every plan's `require`, nor where windows or lines have a length of their own.
  void infinite_lines() {
    for (const std::uint64_t sign : {0, 1}) {
      const Content content{.seed = seed_ + sign, .kind = Kind::infinite_lines};
      add({.workload = narrow_lines(2, 24, 2), .content = content});
      add({.workload = boundary_[static_cast<std::size_t>(Boundary::whole_tiles)],
           .content = content});
    }
  }

  void furthest_elements(std::size_t tensor, Kind kind) {
    Case least{.workload = narrow_lines(1), .content = {.seed = seed_, .kind = kind}};
    Case most = least;
    double low = 0, high = 0;
    for (std::uint64_t draw = 0; draw < lone_draws; ++draw) {
      const Content drawn{.seed = seed_ + draw, .kind = kind};
      const auto params = fill_params(task_, tensor, least.workload, drawn);
      if (!params) return;
      const double value = decode(fill_bits(*params, 0), params->type);
      if (value < low) low = value, least.content = drawn;
      if (value > high) high = value, most.content = drawn;
    }
    add(least);
    add(most);
  }

  // Content that may fail in the contract's own type is met where the reference is run in it: the
  // norm of denormals is zero there, and what is divided by it is no number.
  bool is_met(Kind kind) const {
    if (kind == Kind::infinite_lines && !may_be_infinite(task_)) return false;
    // Integers that fp32 adds up exactly leave the range of fp16.
    if (kind == Kind::integers && adds_in_fp16_) return false;
    if (!real_) return true;
    if (kind == Kind::scales || kind == Kind::infinite_lines) return false;
    return kind != Kind::denormals || !divides(task_);
  }

  // Sizes at which a place by a ratio rounded to fp32 is another than the exact one.
  void telling_sizes() {
    double left = budget_ * telling_share;
    for (const Workload& shape : ratio_shapes(task_, requirements_, steps_, boundary_.front())) {
      const Case run{.workload = shape, .content = {.seed = seed_}};
      if (cost(run) <= left && add(run)) left -= cost(run);
    }
  }

  // Each axis in turn, the others small: sizes by which whole quotients are wrong that are computed
  // by a rounded reciprocal, as for the row of an element.
  void telling_quotients() {
    constexpr std::int64_t others = 3, units[] = {1, 4, 8};
    double left = budget_ * telling_share;
    for (const std::int64_t divisor : telling_divisors()) {
      for (const Axis& chosen : task_.axes) {
        if (chosen.kind == AxisKind::fixed || is_absent(task_, chosen.name)) continue;
        for (const std::int64_t unit : units) {
          Workload wanted = boundary_.front();
          for (const Axis& axis : task_.axes) {
            if (axis.kind != AxisKind::fixed && !is_absent(task_, axis.name))
              wanted.sizes[axis.name] = others;
          }
          wanted.sizes[chosen.name] = unit * divisor;
          const auto shape = fitting(task_, requirements_, steps_, wanted);
          if (!shape || shape->sizes.at(chosen.name) != unit * divisor) continue;
          const Case run{.workload = *shape, .content = {.seed = seed_}};
          if (cost(run) <= left && add(run)) left -= cost(run);
          break;
        }
      }
    }
  }

  // Axes that are looked up, as by a resize or a gather: ratios and places that only some sizes
  // show. Odd over even ones, and ones with a common factor.
  void varied_sizes() {
    const auto looked_up = [&](const Axis& axis) { return is_looked_up(task_, axis.name); };
    if (std::none_of(task_.axes.begin(), task_.axes.end(), looked_up)) return;
    telling_sizes();
    for (std::uint64_t draw = 0; draw < varied_draws; ++draw) {
      Rng rng = Rng::of(seed_, "varied", draw);
      Workload shape = boundary_.front();
      const std::int64_t factor = 3 + 2 * rng.below(3);
      for (const Axis& axis : task_.axes) {
        if (axis.kind == AxisKind::fixed || is_absent(task_, axis.name)) continue;
        const std::int64_t any = 2 + rng.below(most_varied);
        std::int64_t& size = shape.sizes[axis.name];
        if (draw % 2 == 0) {
          size = any / 2 * 2 + (looked_up(axis) ? 0 : 1);
        } else {
          size = factor * (1 + any / factor);
        }
      }
      add({.workload = shape, .content = {.seed = seed_ + draw}});
    }
  }

  // Blocks of the grid of time shapes that no case runs whole.
  void sampled_sizes() {
    for (const Workload& shape : task_.time_shapes) {
      const bool whole = std::any_of(cases_.begin(), cases_.end(), [&](const Case& run) {
        return run.workload.sizes == shape.sizes;
      });
      if (whole || !requirements_.hold(shape)) continue;
      for (const Kind kind : {Kind::ordinary, Kind::range_rows, telling_}) {
        if (!is_met(kind)) continue;
        cases_.push_back(
            {.workload = shape, .content = {.seed = seed_, .kind = kind}, .sampled = true});
      }
    }
  }

  // Another poison, other addresses, and outputs that must follow a change of the inputs.
  void variations() {
    Case other = wish(Boundary::short_and_over, Kind::ordinary, 1);
    other.poison = Poison::large;
    other.content.seed += 2;
    add(other);
    const bool packed =
        std::any_of(task_.tensors.begin(), task_.tensors.end(),
                    [](const Tensor& tensor) { return tensor.alignment < Tensor().alignment; });
    if (packed) {
      other = wish(Boundary::over_and_short, Kind::ordinary, 3);
      other.least_aligned = true;
      for (std::uint64_t way = 0; way < base_ways; ++way) {
        add(other);
        ++other.content.seed;
      }
    }
    for (const Variation variation : {Variation::scaled, Variation::swapped}) {
      other = wish(Boundary::over_and_short, Kind::ordinary);
      other.content.variation = variation;
      add(other);
    }
    overlap();
  }

  // Inputs of one layout only where the sizes make them so: all axes alike.
  void overlap() {
    Case run = wish(Boundary::whole_tiles, Kind::ordinary);
    run.content.variation = Variation::overlap;
    for (const Axis& axis : task_.axes) {
      std::int64_t& size = run.workload.sizes[axis.name];
      if (axis.kind != AxisKind::fixed && size > 1) size = alike;
    }
    const auto shared = [&](std::size_t tensor) {
      const auto source = source_of(task_, tensor, run.workload, run.content);
      return source && *source != tensor;
    };
    for (std::size_t i = 0; i < task_.tensors.size(); ++i) {
      if (shared(i)) return void(add(run));
    }
  }

  void new_seeds() {
    for (std::uint64_t round = 3; round <= 4; ++round) {
      for (const Workload& shape : boundary_)
        add({.workload = shape, .content = {.seed = seed_ + round}});
    }
    for (const Workload& shape : task_.time_shapes) {
      if (real_) continue;
      add({.workload =
               shrink(task_, source_, shape, device_, 2, static_cast<int>(steps_.stages) + 2),
           .content = {.seed = seed_ + 5}});
    }
  }

  // Interpreted: a time shape as it is, where the budget allows.
  void in_full() {
    const auto affordable = [&](const Case& run) {
      if (!is_beyond(run.workload) && cost(run) <= budget_ * full_share) add(run);
    };
    for (const Workload& shape : task_.time_shapes) {
      for (const auto& [kind, seed] : in_full_) {
        if (!is_met(kind)) continue;
        const bool repeated = task_.deterministic && kind == Kind::ordinary;
        if (level_ == ProofLevel::elite && kind != telling_ && !repeated) continue;
        affordable({.workload = shape,
                    .content = {.seed = seed_ + seed, .kind = kind},
                    .repeats = repeated ? 2 : 0});
      }
    }
  }

  // The task's own shapes, in full. Reference values are kept by (task, content), so the seed is
  // the same for all candidates.
  void full_size() {
    for (const Workload& shape : task_.time_shapes) {
      Case run{.workload = shape, .content = {.seed = seed_}};
      for (const Tensor& tensor : task_.tensors) {
        const auto numbers = shape_of(task_, tensor, shape);
        if (tensor.role == Role::out && numbers && numbers->elements > compared_in_full)
          run.compare = drawn;
      }
      run.repeats = level_ == ProofLevel::finalist ? finalist_repeats(task_, device_, shape)
                                                   : candidate_repeats;
      cases_.push_back(run);
      run.repeats = 0;
      if (level_ == ProofLevel::candidate) continue;
      for (const Kind kind : {Kind::probe, telling_}) {
        run.content.kind = kind;
        if (is_met(kind)) cases_.push_back(run);
      }
      // Integers: the other operand has the full significands; constant_rows: other numbers.
      ++run.content.seed;
      if (is_met(telling_)) cases_.push_back(run);
    }
  }

  static constexpr std::int64_t alike = 37, a_dozen = 13;
  static constexpr std::uint64_t varied_draws = 20;
  static constexpr std::int64_t most_varied = 60;
  static constexpr std::uint64_t lone_draws = 64;
  // The share of the remaining budget that a single case at full size may take.
  static constexpr double full_share = 0.5;
  // Elements of a line and lines, of which each seven show a peak at another end: of three elements
  // that are left over by four at a time, for a thread a line and a warp; of two and three rounds
  // of 64 threads and what is left.
  static constexpr std::pair<std::int64_t, std::int64_t> peaked[] = {
      {7, 28}, {96, 28}, {191, 7}, {251, 7}};
  // All sizes of telling ratios may take this much of the budget that is left.
  static constexpr double telling_share = 0.25;
  // Beyond the budget, each content that it left out may take this much of the whole.
  static constexpr double small_share = 1.0 / 24;

  const Task& task_;
  const KernelSource& source_;
  const DeviceSpec& device_;
  ProofLevel level_;
  std::uint64_t seed_;
  bool real_, adds_in_fp16_;
  std::span<const FullContent> in_full_;  // contents of a time shape
  Kind telling_;                          // kind of them that elites meet, too
  PlanSteps steps_;
  PlanRequirements requirements_;
  std::vector<Workload> boundary_;
  double budget_;
  double judged_ = 0;  // price of the references of all cases
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> battery(const Task& task, const KernelSource& source, const DeviceSpec& device,
                          ProofLevel level, std::uint64_t seed, bool real_device) {
  return Battery(task, source, device, level, seed, real_device).run();
}

}  // namespace cupilot
