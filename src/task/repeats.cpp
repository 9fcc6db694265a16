#include "task/repeats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/expr_parse.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

Error refusal(const Task& task, const std::string& repeat, const std::string& reason,
              const std::string& hint) {
  return {ErrorCode::usage, fmt::format("task '{}': repeat '{}': {}", task.name, repeat, reason),
          hint};
}

bool is_name(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         !text.starts_with("cupilot") &&
         std::all_of(text.begin(), text.end(), is_identifier_character);
}

bool names_something(const Task& task, const std::string& name) {
  const auto called = [&](const auto& one) { return one.name == name; };
  return std::any_of(task.axes.begin(), task.axes.end(), called) ||
         std::any_of(task.tensors.begin(), task.tensors.end(), called) ||
         std::any_of(task.scalars.begin(), task.scalars.end(), called) ||
         task.constants.contains(name) ||
         std::any_of(task.operations.begin(), task.operations.end(), [&](const Operation& one) {
           return std::any_of(one.outputs.begin(), one.outputs.end(),
                              [&](const std::string& out) { return step_name(out).base == name; });
         });
}

std::optional<std::int64_t> count_at(const Task& task, const Repeat& repeat,
                                     const Workload& workload) {
  const auto count = evaluate_or_error(repeat.count, task_scope(task, workload));
  return count ? std::optional(*count) : std::nullopt;
}

// Names of the repeat itself: count, step, what it carries.
Result<void> check_repeat(const Task& task, const Repeat& repeat) {
  const auto bad = [&](const std::string& reason, const std::string& hint) {
    return refusal(task, repeat.name, reason, hint);
  };
  if (!is_name(repeat.name)) return bad("its name is none", "use letters, digits and '_'");
  if (!is_name(repeat.step) || names_something(task, repeat.step))
    return bad(fmt::format("the step's name '{}' is {}", repeat.step,
                           is_name(repeat.step) ? "a name of the task" : "none"),
               "give `step` another name");
  for (const auto* shapes : {&task.time_shapes, &task.check_shapes}) {
    for (const Workload& workload : *shapes) {
      const auto count = evaluate_or_error(repeat.count, task_scope(task, workload));
      if (!count) return bad("count: " + count.error().message, count.error().hint);
      if (*count < 1)
        return bad(fmt::format("count is {}", *count), "a repeat has at least one step");
      if (*count > most_steps)
        return bad(fmt::format("count is {}, above {}", *count, most_steps),
                   "let a step do more, or say the loop as one operator (a scan)");
    }
  }
  std::set<std::string> names;
  for (const Carried& one : repeat.carried) {
    if (!is_name(one.name) || names_something(task, one.name) || one.name == repeat.step ||
        !names.insert(one.name).second)
      return bad(fmt::format("the carried name '{}' is {}", one.name,
                             is_name(one.name) ? "taken" : "none"),
                 "give it a name that nothing else has");
    if (one.from.empty() || one.next.empty())
      return bad(fmt::format("'{}' lacks `{}`", one.name, one.from.empty() ? "from" : "next"),
                 "`from` is its value at the first step, `next` what a step hands to the next");
  }
  return {};
}

}  // namespace

StepName step_name(const std::string& text) {
  const std::size_t open = text.find('[');
  if (open == std::string::npos || !text.ends_with(']')) return {text, ""};
  std::string index = text.substr(open + 1, text.size() - open - 2);
  std::erase(index, ' ');
  return {text.substr(0, open), index};
}

const Repeat* find_repeat(const Task& task, const std::string& name) {
  const auto found = std::find_if(task.repeats.begin(), task.repeats.end(),
                                  [&](const Repeat& one) { return one.name == name; });
  return found == task.repeats.end() ? nullptr : &*found;
}

const Carried* find_carried(const Repeat& repeat, const std::string& name) {
  const auto found = std::find_if(repeat.carried.begin(), repeat.carried.end(),
                                  [&](const Carried& one) { return one.name == name; });
  return found == repeat.carried.end() ? nullptr : &*found;
}

std::vector<std::string> read_names(const Task& task, const Operation& operation) {
  std::vector<std::string> names;
  const Repeat* repeat = find_repeat(task, operation.repeat);
  for (const std::string& input : operation.inputs) {
    const Carried* carried = repeat == nullptr ? nullptr : find_carried(*repeat, input);
    if (!input.empty()) names.push_back(carried != nullptr ? carried->from : step_name(input).base);
  }
  return names;
}

std::vector<std::string> made_names(const Task& task, const Operation& operation) {
  std::vector<std::string> names;
  const Repeat* repeat = find_repeat(task, operation.repeat);
  for (const std::string& output : operation.outputs) {
    names.push_back(step_name(output).base);
    if (repeat == nullptr) continue;
    for (const Carried& one : repeat->carried) {
      if (step_name(one.next) == step_name(output) && !one.last.empty()) names.push_back(one.last);
    }
  }
  return names;
}

bool is_read(const Task& task, const Repeat& repeat, const Carried& carried) {
  if (!carried.last.empty()) return true;
  return std::any_of(
      task.operations.begin(), task.operations.end(), [&](const Operation& operation) {
        return operation.repeat == repeat.name &&
               std::find(operation.inputs.begin(), operation.inputs.end(), carried.name) !=
                   operation.inputs.end();
      });
}

Result<void> check_repeats(const Task& task) {
  std::set<std::string> ended, begun;
  std::string current;
  for (const Operation& operation : task.operations) {
    if (operation.repeat == current) continue;
    if (!current.empty()) ended.insert(current);
    current = operation.repeat;
    if (current.empty()) continue;
    if (find_repeat(task, current) == nullptr)
      return refusal(task, current,
                     fmt::format("'{}' is in no repeat of this name", operation.name),
                     "list it in `repeats`");
    if (ended.contains(current))
      return refusal(task, current, fmt::format("'{}' lies apart from its body", operation.name),
                     "let its operations follow one another");
    begun.insert(current);
  }
  std::set<std::string> names;
  for (const Repeat& repeat : task.repeats) {
    const bool taken = !names.insert(repeat.name).second ||
                       std::any_of(task.operations.begin(), task.operations.end(),
                                   [&](const Operation& one) { return one.name == repeat.name; });
    if (taken) return refusal(task, repeat.name, "another operation has this name", "rename one");
    if (!begun.contains(repeat.name))
      return refusal(task, repeat.name, "its body is empty", "list the operations of a step");
    if (auto fits = check_repeat(task, repeat); !fits) return fits;
  }
  return {};
}

Result<std::vector<std::int64_t>> at_each_step(const Task& task, const Repeat& repeat,
                                               const Expr& expr, const Workload& workload) {
  std::vector<std::int64_t> out;
  const auto parsed = check_syntax(expr);
  if (const auto* fault = std::get_if<ExprFault>(&parsed))
    return Error{ErrorCode::usage, fmt::format("index '{}': {}", expr.text, fault->message),
                 "docs/formats/expr.md says how it is written"};
  const std::int64_t count = count_at(task, repeat, workload).value_or(0);
  const ExprScope sizes = task_scope(task, workload);
  std::int64_t step = 0;
  const ExprScope scope = [&](std::string_view name) -> ExprValue {
    if (name == repeat.step) return step;
    return sizes(name);
  };
  for (; step < count; ++step) {
    auto value = evaluate_or_error(expr, scope);
    if (!value) return value.error();
    out.push_back(*value);
  }
  return out;
}

Error RepeatBody::fail(const std::string& reason, const std::string& hint) const {
  return {ErrorCode::usage, fmt::format("repeat '{}': {}", repeat_.name, reason), hint};
}

bool RepeatBody::is_written(const std::string& base) const {
  return std::any_of(task_.operations.begin(), task_.operations.end(), [&](const Operation& one) {
    return one.repeat == repeat_.name &&
           std::any_of(one.outputs.begin(), one.outputs.end(),
                       [&](const std::string& out) { return step_name(out).base == base; });
  });
}

Result<bool> RepeatBody::runs_backwards(const StepName& name) const {
  bool forwards = true, backwards = true;
  for (const Workload& workload : task_.time_shapes) {
    auto places = at_each_step(task_, repeat_, name.index, workload);
    if (!places) return places.error();
    const auto count = static_cast<std::int64_t>(places->size());
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int64_t place = (*places)[static_cast<std::size_t>(t)];
      forwards = forwards && place == t;
      backwards = backwards && place == count - 1 - t;
    }
  }
  if (!forwards && !backwards)
    return fail(
        fmt::format("'{}[{}]' is written in no order that is known", name.base, name.index.text),
        fmt::format("write step {0}, or from the end: {1} - 1 - {0}", repeat_.step,
                    repeat_.count.text));
  return !forwards;
}

Result<void> RepeatBody::check_range(const StepName& name, const Expr& extent) const {
  if (equal_ != nullptr) equal_->kept.push_back(extent);
  for (const auto* shapes : {&task_.time_shapes, &task_.check_shapes}) {
    for (const Workload& workload : *shapes) {
      auto places = at_each_step(task_, repeat_, name.index, workload);
      if (!places) return places.error();
      const auto size = evaluate_or_error(extent, task_scope(task_, workload));
      if (!size) return size.error();
      for (std::size_t t = 0; t < places->size(); ++t) {
        const std::int64_t place = (*places)[t];
        if (place >= 0 && place < *size) continue;
        return fail(fmt::format("'{}[{}]' is place {} at step {}, but '{}' has {} along its first "
                                "dimension",
                                name.base, name.index.text, place, t, name.base, *size),
                    "correct the index, or the tensor's shape");
      }
    }
  }
  return {};
}

Result<std::string> RepeatBody::stage_of(const std::string& text) const {
  const StepName name = step_name(text);
  if (!name.sliced()) return name.base;
  const auto backwards = runs_backwards(name);
  if (!backwards) return backwards.error();
  return *backwards ? name.base + "_by_step" : name.base;
}

Result<SeenInput> RepeatBody::input(const std::string& text) const {
  if (const Carried* one = find_carried(repeat_, text)) {
    const auto from = outer_.find(one->from);
    if (from == outer_.end())
      return Error{ErrorCode::usage,
                   fmt::format("'{}' begins as '{}', which is no tensor and no output before "
                               "repeat '{}'",
                               text, one->from, repeat_.name),
                   "name what it is at the first step"};
    auto stage = stage_of(one->next);
    if (!stage) return stage.error();
    return SeenInput{*stage, from->second, fmt::format("{} - 1", step_coordinate), one->from};
  }
  const StepName name = step_name(text);
  for (const Value& value : values_) {
    if (value.name == name) return SeenInput{value.stage, value.shape, step_coordinate, ""};
  }
  if (is_written(name.base))
    return Error{ErrorCode::usage,
                 fmt::format("'{}' is no value that this step has made before", text),
                 "list operations in the order in which they run; what an earlier step made is "
                 "handed on by `carried`"};
  const auto known = outer_.find(name.base);
  if (known == outer_.end())
    return Error{ErrorCode::usage,
                 fmt::format("'{}' is no tensor and no output of an earlier operation", name.base),
                 "list operations in the order in which they run"};
  if (!name.sliced()) return SeenInput{name.base, known->second, "", ""};
  if (auto in_range = check_range(name, known->second.front()); !in_range) return in_range.error();
  ExprShape shape(known->second.begin() + 1, known->second.end());
  if (shape.empty()) shape.push_back(1);
  const std::string step = renamed(name.index.text, [&](const std::string& word) {
    return word == repeat_.step ? std::optional<std::string>(step_coordinate) : std::nullopt;
  });
  return SeenInput{name.base, std::move(shape), step, ""};
}

// Refuses a value that is handed on in another shape than it came in.
Result<void> RepeatBody::check_handed(const StepName& name, const ExprShape& shape) const {
  for (const Carried& carried : repeat_.carried) {
    const auto from = outer_.find(carried.from);
    if (step_name(carried.next) != name || from == outer_.end()) continue;
    for (std::size_t d = 0; equal_ != nullptr && d < shape.size() && d < from->second.size(); ++d)
      equal_->products.push_back({{from->second[d]}, {shape[d]}});
    for (const Workload& workload : task_.time_shapes) {
      std::vector<std::int64_t> before, after;
      const ExprShape& first = from->second;
      for (const auto& [extents, out] : {std::pair(&first, &before), std::pair(&shape, &after)}) {
        for (const Expr& extent : *extents) {
          const auto size = evaluate_or_error(extent, task_scope(task_, workload));
          if (!size) return size.error();
          out->push_back(*size);
        }
      }
      if (before != after)
        return fail(fmt::format("'{}' changes its shape: {} at first, {} after a step",
                                carried.name, fmt::join(before, " x "), fmt::join(after, " x ")),
                    "a step must hand on what it got");
    }
  }
  return {};
}

Result<void> RepeatBody::add_output(const std::string& text, const ExprShape& shape) {
  const StepName name = step_name(text);
  if (find_carried(repeat_, name.base) != nullptr)
    return fail(fmt::format("writes '{}', which it carries", name.base),
                "write another name and say it in `next`");
  if (std::any_of(values_.begin(), values_.end(),
                  [&](const Value& one) { return one.name.base == name.base; }))
    return fail(fmt::format("'{}' is written twice in a step", name.base), "give it another name");
  auto stage = stage_of(text);
  if (!stage) return stage.error();
  if (auto same = check_handed(name, shape); !same) return same;
  if (find_tensor(task_, name.base) == nullptr && !name.sliced())
    task_.edges.push_back({name.base, shape, repeat_.name});
  values_.push_back({name, *stage, shape});
  return {};
}

// A map of what a body's stage is at one step, or at all of them in the order of the steps or from
// the end.
Result<void> RepeatBody::add_copy(const std::string& name, const std::string& stage,
                                  const ExprShape& shape, const std::string& step, bool all_steps) {
  ReferenceStage copy{.name = name};
  if (all_steps) copy.free.push_back({step_coordinate, repeat_.count});
  StageRead read{.name = "value", .source = stage, .extents = shape, .at = {}, .step = step};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    copy.free.push_back({fmt::format("c{}", d), shape[d]});
    read.at.push_back(copy.free.back().name);
  }
  copy.reads.push_back(std::move(read));
  copy.term = "value";
  task_.reference.stages.push_back(std::move(copy));
  return {};
}

Result<void> RepeatBody::hand_on(const Carried& carried) {
  const StepName next = step_name(carried.next);
  const auto value = std::find_if(values_.begin(), values_.end(),
                                  [&](const Value& one) { return one.name == next; });
  if (value == values_.end())
    return fail(fmt::format("'{}' is to get '{}', which the body does not make", carried.name,
                            carried.next),
                "name an output of the body in `next`");
  const auto from = outer_.find(carried.from);
  if (from == outer_.end())
    return fail(fmt::format("'{}' begins as '{}', which is no tensor and no output before it",
                            carried.name, carried.from),
                "name what it is at the first step");
  // A value that is handed on is stored: a fold of one term, which max_ keeps as it is.
  for (ReferenceStage& stage : task_.reference.stages) {
    if (stage.name != value->stage || stage.kind != StageKind::map) continue;
    stage.kind = StageKind::fold;
    stage.combine = Combine::max;
  }
  if (carried.last.empty()) return {};
  if (!is_name(carried.last) || outer_.contains(carried.last) || is_written(carried.last))
    return fail(fmt::format("`last` of '{}' is '{}', which is {}", carried.name, carried.last,
                            is_name(carried.last) ? "taken" : "no name"),
                "give it a name of its own, or that of an output");
  if (find_tensor(task_, carried.last) == nullptr)
    task_.edges.push_back({carried.last, value->shape, ""});
  outer_[carried.last] = value->shape;
  return add_copy(carried.last, value->stage, value->shape,
                  fmt::format("{} - 1", repeat_.count.text), false);
}

Result<void> RepeatBody::finish() {
  for (const Carried& carried : repeat_.carried) {
    if (auto handed = hand_on(carried); !handed) return handed;
  }
  for (const Value& value : values_) {
    const bool given = find_tensor(task_, value.name.base) != nullptr;
    if (!value.name.sliced() && !given) continue;
    ExprShape whole = value.shape;
    whole.insert(whole.begin(), repeat_.count);
    if (!given) task_.edges.push_back({value.name.base, whole, ""});
    outer_[value.name.base] = whole;
    if (value.stage == value.name.base) continue;
    const std::string from_the_end =
        fmt::format("({}) - 1 - {}", repeat_.count.text, step_coordinate);
    if (auto added = add_copy(value.name.base, value.stage, value.shape, from_the_end, true);
        !added)
      return added;
  }
  return {};
}

}  // namespace cupilot
