// Fake outputs against a task's own check: what the battery's comparison cannot refuse must not be
// searched.
#include <cupilot/parts/checker_power.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <cupilot/rng.hpp>

#include "task/content.hpp"
#include "task/extents.hpp"
#include "task/host_judge.hpp"
#include "task/reference/stage_plan.hpp"
#include "task/repeats.hpp"
#include "verify/fakes.hpp"
#include "verify/rms.hpp"
#include "verify/shown.hpp"

namespace cupilot {
namespace {

// Multiply-adds that one evaluation of the reference may cost.
constexpr double affordable = 3e5;
// And all of them that move inputs of a graph whose checks honest executions hold.
constexpr double affordable_moves = 2e7;
// Moves an input by a share of itself; of the outputs it reaches, a share must then move by
// `tolerances` times the error of honest arithmetic. A summand beside long sums may need to be
// moved whole.
struct Push {
  double by, share;
  const char* words;
};
constexpr Push pushes[] = {{0.1, 0.9, "a tenth"}, {1.0, 0.5, "all"}};
constexpr double tolerances = 10;
// Counts tolerances of a bound by 16-bit arithmetic, which is a few percent of the terms.
constexpr double coarse_tolerances = 2;
double tolerances_of(const Tensor& output) {
  return output.check.arithmetic == DType::f32 ? tolerances : coarse_tolerances;
}
constexpr std::int64_t few = 100;
constexpr ContentKind shown_on[] = {ContentKind::ordinary, ContentKind::probe,
                                    ContentKind::integers};
// Whole numbers and flags are drawn alike in all of these: an output that is nearly always one
// value shows the other where lines hold one value, or the ends alone.
constexpr ContentKind whole_numbers_on[] = {ContentKind::ordinary, ContentKind::constant_rows,
                                            ContentKind::range_rows};

std::span<const ContentKind> contents_shown(const Task& task) {
  const bool floats = std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& one) {
    return one.role != Role::out && one.type < DType::i64;  // floating types come first
  });
  return floats ? std::span<const ContentKind>(shown_on) : whole_numbers_on;
}

Error weak(const Task& task, const Tensor& output, const std::string& reason,
           const std::string& fix) {
  return {ErrorCode::usage,
          fmt::format("task '{}': the check of output {} {}", task.name, output.name, reason), fix};
}

std::string fix_of(const Tensor& output) {
  if (output.check.kind == CheckKind::close)
    return "lower check.absolute and check.relative, or use check within";
  return "change the fills so that this output varies and depends on its inputs, or give "
         "check.length the terms of one sum";
}

bool spans_an_output(const Task& task, const Axis& axis) {
  return std::any_of(task.tensors.begin(), task.tensors.end(), [&](const Tensor& tensor) {
    return tensor.role != Role::in && tensor.role != Role::constant &&
           std::find(tensor.shape.begin(), tensor.shape.end(), Expr(axis.name)) !=
               tensor.shape.end();
  });
}

// The first time shape with its sums cut to a length where a tenth of one operand stands out, then
// cut until it is cheap. No tensor loses its size.
Workload small_workload(const Task& task) {
  Workload out = task.time_shapes.front();
  const auto cost = [&] {
    double product = 1;
    for (const Axis& axis : task.axes) {
      const auto size = static_cast<double>(out.sizes.at(axis.name));
      product *= axis.kind == AxisKind::reduced && spans_an_output(task, axis) ? size * size : size;
    }
    double summed = 1;  // by a text, anew for each element of an output
    for (const Axis& axis : task.axes) {
      const bool sums = axis.kind == AxisKind::reduced && task.reference.stages.empty();
      if (sums) summed *= static_cast<double>(out.sizes.at(axis.name));
    }
    double elements = 0;  // where extents are numbers or products, more than the axes say
    for (const Tensor& tensor : task.tensors) {
      const auto shape = shape_of(task, tensor, out);
      const double each = tensor.role == Role::out ? summed : 1;
      if (shape) elements = std::max(elements, static_cast<double>(shape->elements) * each);
    }
    return std::max({product, reference_terms(task, out), elements});
  };
  const auto cut = [&](AxisKind kind, std::int64_t most) {
    for (const Axis& axis : task.axes) {
      if (axis.kind != kind) continue;
      std::int64_t& size = out.sizes.at(axis.name);
      const std::int64_t whole = std::exchange(size, std::min(size, most));
      if (size < whole && !has_sizes(task, out)) size = whole;
    }
  };
  cut(AxisKind::reduced, 128);
  for (const std::int64_t most : {64, 24, 12, 7, 3, 2}) {
    if (cost() > affordable) cut(AxisKind::free, most);
  }
  for (const std::int64_t most : {64, 16, 6}) {
    if (cost() > affordable) cut(AxisKind::reduced, most);
  }
  return out;
}

// Inputs of one content and what the reference makes of them.
struct Shown {
  Content content;
  TensorList inputs;
  std::vector<ReferenceValues> right;
};

// True if the fake is the right result but for its last bits.
bool is_fine(const Fake& fake) {
  using K = Fake::Kind;
  return fake.kind == K::scaled || fake.kind == K::rounded_inputs || fake.kind == K::rounded_output;
}

// True for an output of a graph in fp32-strict whose errors honest executions of its operations
// bound: they tell last bits and small terms that the output's own bound does not tell
// (docs/formats/numerics.md).
bool is_told_by_honest(const Task& task, const Tensor& output) {
  if (task.operations.size() <= 1 || task.reference.stages.empty() ||
      task.precision != Precision::fp32_strict || !is_judged_by_rms(output))
    return false;
  return std::all_of(task.time_shapes.begin(), task.time_shapes.end(), [&](const Workload& timed) {
    const auto shape = shape_of(task, output, timed);
    return shape && shape->elements >= least_for_rms;
  });
}

// True if floating inputs have 16 bits at most, so that tf32 or their own type may hold the result.
bool has_narrow_inputs(const Task& task) {
  return std::none_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& tensor) {
    return tensor.role != Role::out && tensor.type < DType::i64 && size_of(tensor.type) > 2;
  });
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// True if values are wrong by more than any honest execution is in fp32-strict.
bool is_far(std::span<const double> values, std::span<const double> right) {
  constexpr double share = 0x1p-6;
  double wrong = 0, all = 0;
  for (std::size_t i = 0; i < std::min(values.size(), right.size()); ++i) {
    if (!std::isfinite(right[i]) || !std::isfinite(values[i])) continue;
    wrong += (values[i] - right[i]) * (values[i] - right[i]);
    all += right[i] * right[i];
  }
  return wrong > share * share * all;
}

class Power {
 public:
  Power(const TaskRef& task, Backend& backend) : task_(task), backend_(backend) {
    report_.task = task.id();
    report_.workload = small_workload(task);
  }

  Result<PowerReport> run() {
    for (const Repeat& repeat : task_->repeats) {
      for (const Carried& one : repeat.carried) {
        if (!is_read(*task_, repeat, one))
          report_.exempt.push_back(
              fmt::format("repeat {} never reads {}, which it carries", repeat.name, one.name));
      }
    }
    for (const ContentKind kind : contents_shown(*task_)) {
      if (kind == ContentKind::integers && adds_in_fp16(*task_)) continue;
      if (auto shown = show(kind); !shown) return shown.error();
    }
    std::size_t place = 0;
    for (std::size_t t = 0; t < task_->tensors.size(); ++t) {
      const Role role = task_->tensors[t].role;
      if (role != Role::out && role != Role::in_out) continue;
      if (is_judged_by_host(task_->tensors[t])) {
        report_.exempt.push_back(fmt::format("{}: what its judge, {}, refuses is not known",
                                             task_->tensors[t].name, task_->tensors[t].check.of));
        ++place;
        continue;
      }
      if (Result<void> held = output(t, place++); !held) return held.error();
    }
    if (Result<void> seen = all_seen(); !seen) return seen.error();
    return std::move(report_);
  }

 private:
  Result<void> show(ContentKind kind) {
    Shown shown{.content = {.seed = 11, .kind = kind}, .inputs = {}, .right = {}};
    auto inputs = contents_of(task_, report_.workload, shown.content);
    if (!inputs) return inputs.error();
    shown.inputs = std::move(*inputs);
    auto right = backend_.inspector().reference(task_, report_.workload, shown.inputs);
    if (!right) return right.error();
    shown.right = std::move(*right);
    shown_.push_back(std::move(shown));
    return {};
  }

  const char* not_told() const {
    return task_->repeats.empty()
               ? "the bound of the graph does not tell; errors of honest executions and the PTX do"
               : "the bound of a loop does not tell";
  }

  // An output of whole numbers that must be equal is told whole numbers.
  Result<void> is_whole(const Tensor& what, std::size_t place) const {
    if (what.type < DType::i64 || what.check.kind != CheckKind::bitwise) return {};
    for (const Shown& shown : shown_) {
      for (const double value : shown.right[place].values) {
        const bool flag = what.type != DType::boolean || value == 0.0 || value == 1.0;
        if (!std::isfinite(value) || (flag && value == std::rint(value))) continue;
        return weak(
            *task_, what, fmt::format("asks for {:.9g}, which is no {}", value, name_of(what.type)),
            "end in whole numbers (a comparison, round, floor), or give it a floating type");
      }
    }
    return {};
  }

  Result<void> output(std::size_t tensor, std::size_t place) {
    const Tensor& what = task_->tensors[tensor];
    if (auto whole = is_whole(what, place); !whole) return whole;
    const int before = report_.fakes;
    for (const Fake& fake : fakes_of(task_, tensor)) {
      auto tried = judged(fake, tensor, place);
      if (tried && !tried->rejected && what.type == DType::boolean && !shows_special_) {
        // A flag of infinities or of NaN is the same for all finite numbers.
        shows_special_ = true;
        if (auto shown = show(ContentKind::special); !shown) return shown.error();
        tried = judged(fake, tensor, place);
      }
      if (!tried) return tried.error();
      if (tried->rejected) {
        ++report_.fakes;
      } else if (!tried->changes && fake.kind == Fake::Kind::rounded_output &&
                 has_narrow_inputs(*task_)) {
        report_.exempt.push_back(
            fmt::format("{}: {}: it is the right result itself, since no input has more bits",
                        what.name, fake.name));
      } else if (const std::string allowed = why_allowed(task_, tensor, report_.workload, fake);
                 !allowed.empty()) {
        report_.exempt.push_back(fmt::format("{}: {}: {}", what.name, fake.name, allowed));
      } else if (!tried->changes && fake.kind == Fake::Kind::rounded_inputs &&
                 !sees_wide_inputs(tensor, place)) {
        report_.exempt.push_back(
            fmt::format("{}: {}: no input that this rounds moves it", what.name, fake.name));
      } else if (is_fine(fake) && (!task_->repeats.empty() || is_told_by_honest(*task_, what))) {
        // The bound of a loop grows with its steps, a graph's with its contractions; parts and
        // honest executions hold both.
        report_.exempt.push_back(fmt::format("{}: {}: {}", what.name, fake.name, not_told()));
      } else if (tried->apart && is_told_by_honest(*task_, what)) {
        // A deep graph's bound may be larger than the values themselves.
        report_.exempt.push_back(fmt::format(
            "{}: {}: the bound of the graph does not tell; errors of honest executions do",
            what.name, fake.name));
      } else {
        return weak(task_, what, fmt::format("accepts {}", fake.name), fix_of(what));
      }
    }
    std::string moving;
    for (std::size_t input = 0; input < task_->tensors.size(); ++input) {
      if (!is_perturbed(task_->tensors[input])) continue;
      if (is_too_dear(input, what)) {
        untried_.insert(input);
        continue;
      }
      auto pushed = sensitive(input, tensor, place);
      if (!pushed) return pushed.error();
      if (pushed->empty()) continue;
      seen_.insert(input);
      moving += fmt::format("{}{} of {}", moving.empty() ? "" : ", ", *pushed,
                            task_->tensors[input].name);
    }
    const bool apart = moving.empty() && is_told_by_honest(*task_, what);
    report_.shown.push_back(fmt::format(
        "{}: {} fakes rejected; {}", what.name, report_.fakes - before,
        apart ? "errors of honest executions, not the bound of the graph, tell what inputs move"
              : (moving.empty() ? "no input" : moving) + " moves it"));
    return {};
  }

  // False if moving all of an fp32 input moves no element of the output, for each of them.
  bool sees_wide_inputs(std::size_t tensor, std::size_t place) {
    for (std::size_t input = 0; input < task_->tensors.size(); ++input) {
      const Tensor& one = task_->tensors[input];
      if (one.role == Role::out || one.type != DType::f32) continue;
      if (!is_perturbed(one) || is_too_dear(input, task_->tensors[tensor])) return true;
      const auto moved = move(input, tensor, place, pushes[1].by);
      if (!moved || moved->reached > 0) return true;
    }
    return false;
  }

  // Each input must be seen by some output. One that a staged reference cannot feel at all (a bias
  // before a normalisation) is a remark.
  Result<void> all_seen() {
    if (!untried_.empty())
      report_.exempt.push_back(fmt::format(
          "{} inputs, {} the first: what they move is too dear to try; errors of honest executions "
          "tell it",
          untried_.size(), task_->tensors[*untried_.begin()].name));
    for (auto& [input, error] : blind_) {
      if (seen_.contains(input) || !error) continue;
      const auto moved = !reached_.contains(input) ? moves_by_special(input) : Result<bool>(false);
      if (!moved) return moved.error();
      if (*moved) {
        report_.exempt.push_back(
            fmt::format("{}: finite numbers move nothing, what is not finite moves a flag",
                        task_->tensors[input].name));
        continue;
      }
      if (!task_->repeats.empty()) {
        report_.exempt.push_back(fmt::format("{}: what it moves is within the bound of a loop",
                                             task_->tensors[input].name));
        continue;
      }
      const auto told = [&](const Tensor& one) { return is_told_by_honest(*task_, one); };
      if (reached_.contains(input) &&
          std::all_of(task_->tensors.begin(), task_->tensors.end(), [&](const Tensor& one) {
            return one.role == Role::in || one.role == Role::constant || told(one);
          })) {
        report_.exempt.push_back(
            fmt::format("{}: what it moves is small beside the bound of the "
                        "graph; errors of honest executions tell it",
                        task_->tensors[input].name));
        continue;
      }
      if (reached_.contains(input) || task_->reference.stages.empty()) return std::move(*error);
      report_.exempt.push_back(
          fmt::format("{} moves no output: the operators let it have no influence",
                      task_->tensors[input].name));
    }
    return {};
  }

  // True if an output of special content changes where one input has its ordinary content.
  Result<bool> moves_by_special(std::size_t input) {
    if (!shows_special_) return false;
    TensorList inputs = shown_.back().inputs;
    inputs[input] = shown_.front().inputs[input];
    const auto after = backend_.inspector().reference(task_, report_.workload, inputs);
    if (!after) return after.error();
    for (std::size_t i = 0; i < after->size(); ++i) {
      const std::vector<double>& now = (*after)[i].values;
      const std::vector<double>& before = shown_.back().right[i].values;
      if (!std::equal(now.begin(), now.end(), before.begin(), before.end(), is_same)) return true;
    }
    return false;
  }

  // True where moving one more input passes what a deep graph may cost and shows remarks alone.
  bool is_too_dear(std::size_t input, const Tensor& output) const {
    if (after_.contains({input, pushes[0].by, 1}) || !is_told_by_honest(*task_, output))
      return false;
    const double each = reference_terms(*task_, report_.workload);
    return static_cast<double>(after_.size() + 1) * each > affordable_moves;
  }

  // rejected: by one of the contents, which ends it; changes, apart: on one of them it is not, or
  // far from, the right result.
  struct Judged {
    bool rejected = false, changes = false, apart = false;
  };

  Result<Judged> judged(const Fake& fake, std::size_t tensor, std::size_t place) {
    Judged out;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      const Shown& shown = shown_[i];
      // The one fake that computes anew rounds the inputs to a class; all outputs ask for the same.
      const Recompute recompute = [&](const TensorList& inputs) -> Result<std::vector<double>> {
        const auto made = values_of({i, static_cast<double>(fake.precision), 0}, inputs);
        if (!made) return made.error();
        return (**made)[place];
      };
      auto values = fake_values(fake, task_, tensor, report_.workload, shown.inputs,
                                shown.right[place].values, recompute);
      if (!values) return values.error();
      auto accepted =
          accepts(task_, tensor, report_.workload, shown.content, shown.right[place], *values);
      if (!accepted) return accepted.error();
      out.rejected = !*accepted;
      if (out.rejected) return out;
      const std::vector<double>& right = shown.right[place].values;
      out.changes = out.changes || !std::equal(values->begin(), values->end(), right.begin(),
                                               right.end(), is_same);
      out.apart = out.apart || is_far(*values, right);
    }
    return out;
  }

  // Outputs the change reaches; those that move clearly; those that the check cannot tell from zero
  // before and after, as where an activation is flat.
  struct Moved {
    std::int64_t reached = 0, clear = 0, flat = 0;
  };

  // Values of each output.
  using Values = std::vector<std::vector<double>>;
  // An input, by which part of itself it moves, and the draw from 1; or a content, the class that
  // inputs are rounded to, and 0.
  using Change = std::tuple<std::size_t, double, std::uint64_t>;

  // The outputs where each element of one input is up or down by that part of itself, as `draw`
  // decides. All outputs ask for the same moves.
  Result<const Values*> values_after(std::size_t input, double by, std::uint64_t draw) {
    const Change change(input, by, draw);
    if (const auto known = after_.find(change); known != after_.end()) return &known->second;
    const Shown& base = shown_.front();
    TensorList moved = base.inputs;
    auto layout = fill_params(task_, input, report_.workload, base.content);
    if (!layout) return layout.error();
    for (std::int64_t i = 0; i < layout->elements; ++i) {
      const std::int64_t at = storage_offset(*layout, i);
      const double factor =
          (hash_of(draw, static_cast<unsigned long long>(i), 1) & 1) != 0 ? 1 + by : 1 - by;
      const double x = load_real(moved[input].data(), at, layout->type);
      store_bits(moved[input].data(), at, layout->type, encode(factor * x, layout->type));
    }
    return values_of(change, moved);
  }

  // Computes what the reference makes of changed inputs, once for each change.
  Result<const Values*> values_of(const Change& change, const TensorList& inputs) {
    if (const auto known = after_.find(change); known != after_.end()) return &known->second;
    auto after = backend_.inspector().reference(task_, report_.workload, inputs);
    if (!after) return after.error();
    Values values;
    for (ReferenceValues& one : *after) values.push_back(std::move(one.values));
    return &after_.emplace(change, std::move(values)).first->second;
  }

  // Counts how one such move shows in an output.
  Result<Moved> move(std::size_t input, std::size_t tensor, std::size_t place, double by,
                     std::uint64_t draw) {
    const auto after = values_after(input, by, draw);
    if (!after) return after.error();
    auto tolerance = honest_bound(task_, tensor, report_.workload);
    if (!tolerance) return tolerance.error();
    const ReferenceValues& right = shown_.front().right[place];
    const double asked = tolerances_of(task_->tensors[tensor]);
    Moved out;
    for (std::size_t i = 0; i < right.values.size(); ++i) {
      const double before = right.values[i], now = (**after)[place][i];
      if (before == now || !std::isfinite(before)) continue;
      // A summand that algebra takes away again leaves the last bits of a double.
      const double rest = tolerance->check == check_within ? 0x1p-44 * magnitude(right.sums[i]) : 0;
      if (std::abs(now - before) <= rest) continue;
      const double allowed = allowed_error(*tolerance, before, right.sums[i]);
      ++out.reached;
      if (std::abs(now - before) >= asked * allowed) {
        ++out.clear;
      } else if (std::abs(before) <= allowed && std::abs(now) <= allowed) {
        ++out.flat;
      }
    }
    return out;
  }

  static double allowed_error(const BoundParams& p, double value, double sum) {
    if (p.check == check_within) return p.per_sum * magnitude(sum) + p.tiny;
    return p.check == check_close ? p.absolute + p.relative * magnitude(value) : 0.0;
  }

  Result<Moved> move(std::size_t input, std::size_t tensor, std::size_t place, double by) {
    const auto all = static_cast<std::int64_t>(shown_.front().right[place].values.size());
    // Few outputs are asked several times, expensive ones less often.
    const double cost = std::max(1.0, reference_terms(*task_, report_.workload));
    const auto most = static_cast<std::int64_t>(std::clamp(8 * affordable / cost, 2.0, 16.0));
    const auto draws = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(few / std::max<std::int64_t>(all, 1), 1, most));
    Moved sum;
    for (std::uint64_t draw = 1; draw <= draws; ++draw) {
      auto one = move(input, tensor, place, by, draw);
      if (!one) return one.error();
      sum.reached += one->reached;
      sum.clear += one->clear;
      sum.flat += one->flat;
    }
    return sum;
  }

  // Returns in words how far the input was moved until the check saw it; "": the output does not
  // see it, and the reason is kept.
  Result<std::string> sensitive(std::size_t input, std::size_t tensor, std::size_t place) {
    const Tensor& output = task_->tensors[tensor];
    const std::string& name = task_->tensors[input].name;
    const bool index =
        output.check.kind == CheckKind::index_of || output.check.kind == CheckKind::bitwise;
    Moved moved;
    for (const Push& push : pushes) {
      auto tried = move(input, tensor, place, push.by);
      if (!tried) return tried.error();
      moved = *tried;
      if (moved.reached == 0) continue;
      const bool mostly_flat = 4 * moved.flat > 3 * moved.reached;
      const std::int64_t asked = mostly_flat ? moved.reached : moved.reached - moved.flat;
      if (static_cast<double>(moved.clear) >=
          (index ? 0.0 : push.share) * static_cast<double>(asked)) {
        return std::string(push.words);
      }
    }
    std::optional<Error>& reason = blind_[input];
    if (moved.reached > 0) {
      reached_.insert(input);
      reason = weak(
          task_, output,
          fmt::format(
              "hardly sees input {}: moving all of it moves {} of {} elements by {} tolerances",
              name, moved.clear, moved.reached, tolerances_of(output)),
          fix_of(output));
    } else if (!reason) {
      reason = weak(task_, output,
                    fmt::format("cannot see input {}: moving all of it moves no element", name),
                    "remove the input, or give it a fill that matters (not zeros)");
    }
    return std::string();
  }

  const TaskRef& task_;
  Backend& backend_;
  PowerReport report_;
  std::vector<Shown> shown_;
  bool shows_special_ = false;  // among the contents shown
  std::map<Change, Values> after_;
  std::set<std::size_t> untried_;  // inputs that is_too_dear() left out
  // Inputs that some output sees; that move some element; with the reason why none sees them.
  std::set<std::size_t> seen_, reached_;
  std::map<std::size_t, std::optional<Error>> blind_;
};

}  // namespace

Result<PowerReport> check_power(const TaskRef& task, Backend& backend) {
  static std::mutex mutex;
  static std::map<std::string, PowerReport> known;
  const std::string key = backend.identity() + " " + task.id();
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  if (auto valid = validate(task); !valid) return valid.error();
  const auto begin = std::chrono::steady_clock::now();
  auto report = Power(task, backend).run();
  if (!report) {
    // A landscape or a recording has no reference to test.
    if (report.error().code == ErrorCode::no_device) {
      PowerReport none;
      none.task = task.id();
      none.exempt.push_back(report.error().message);
      return none;
    }
    return std::move(report.error())
        .while_doing("testing whether the task's check tells right from wrong");
  }
  report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::lock_guard lock(mutex);
  return known.emplace(key, *report).first->second;
}

}  // namespace cupilot
