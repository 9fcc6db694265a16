#include "program/step_values.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "task/identifiers.hpp"
#include "task/repeats.hpp"

namespace cupilot {

std::optional<std::int64_t> fixed_count(const Task& program, const Repeat& repeat) {
  const auto count = evaluate_or_error(repeat.count, scope_of(program.constants));
  return count ? std::optional(*count) : std::nullopt;
}

bool StepValues::is_made(const std::string& value) const {
  const StepName name = step_name(value);
  return std::any_of(
      program_.operations.begin(), program_.operations.end(), [&](const Operation& one) {
        return one.repeat == repeat_.name &&
               std::any_of(one.outputs.begin(), one.outputs.end(),
                           [&](const std::string& out) { return step_name(out) == name; });
      });
}

// Finds the carried value that a step makes of it; null: it ends with its step.
const Carried* StepValues::handed_on(const std::string& value) const {
  const StepName name = step_name(value);
  const auto found = std::find_if(repeat_.carried.begin(), repeat_.carried.end(),
                                  [&](const Carried& one) { return step_name(one.next) == name; });
  return found == repeat_.carried.end() ? nullptr : &*found;
}

bool StepValues::is_own(const std::string& value) const {
  return step_name(value).sliced() || is_made(value);
}

std::vector<std::string> StepValues::buffers(const std::string& value) const {
  const StepName name = step_name(value);
  std::string own = "step_" + name.base;
  if (name.sliced())
    own += fmt::format("_at_{}",
                       renamed_runs(
                           name.index.text, [](char c) { return !is_identifier_character(c); },
                           [](const std::string& run) -> std::optional<std::string> {
                             std::string code;
                             for (const char c : run) code += fmt::format("_{:x}_", int(c));
                             return code;
                           }));
  if (handed_on(value) == nullptr) return {own};
  return {own + "_0", own + "_1"};
}

std::string StepValues::at(const std::string& value, std::int64_t step) const {
  if (const Carried* carried = find_carried(repeat_, value))
    return step == 0 ? carried->from : at(carried->next, step - 1);
  if (!is_own(value)) return value;
  if (const Carried* handed = handed_on(value);
      handed != nullptr && !handed->last.empty() && step == count_ - 1)
    return handed->last;
  const auto turns = buffers(value);
  return turns[static_cast<std::size_t>(step) % turns.size()];
}

std::vector<std::string> StepValues::outside(const std::string& value) const {
  if (const Carried* carried = find_carried(repeat_, value)) return {carried->from};
  if (!is_own(value)) return {value};
  std::vector<std::string> all;
  const StepName name = step_name(value);
  const bool is_edge =
      std::any_of(program_.edges.begin(), program_.edges.end(),
                  [&](const Edge& one) { return one.name == name.base && one.repeat.empty(); });
  if (is_edge || find_tensor(program_, name.base) != nullptr) all.push_back(name.base);
  if (const Carried* handed = handed_on(value); handed != nullptr && !handed->last.empty())
    all.push_back(handed->last);
  return all;
}

Expr StepValues::place(const std::string& value, std::int64_t step) const {
  const StepName name = step_name(value);
  if (!name.sliced()) return step;
  return renamed(name.index.text, [&](const std::string& word) {
    return word == repeat_.step ? std::optional(std::to_string(step)) : std::nullopt;
  });
}

std::optional<StepCopy> StepValues::copy_in(const std::string& value, std::int64_t step) const {
  if (!step_name(value).sliced() || is_made(value)) return std::nullopt;
  return StepCopy{value, step_name(value).base, place(value, step)};
}

std::optional<StepCopy> StepValues::copy_out(const std::string& value, std::int64_t step) const {
  const StepName name = step_name(value);
  if (!is_made(value) || (!name.sliced() && find_tensor(program_, name.base) == nullptr))
    return std::nullopt;
  return StepCopy{value, name.base, place(value, step)};
}

StepCopy StepValues::kept(const std::string& value, std::int64_t step) const {
  if (const Carried* carried = find_carried(repeat_, value))
    return step == 0 ? StepCopy{"", carried->from, 0} : kept(carried->next, step - 1);
  if (!is_own(value)) return {"", value, 0};
  return {value, step_name(value).base, place(value, step)};
}

}  // namespace cupilot
