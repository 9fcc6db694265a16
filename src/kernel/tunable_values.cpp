#include "kernel/tunable_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <cupilot/parts/technique.hpp>

#include "kernel/device_limits.hpp"
#include "kernel/plan_scope.hpp"
#include "strategy/edit.hpp"

namespace cupilot {
namespace {

std::int64_t nearest_value(const std::vector<std::int64_t>& domain, std::int64_t wish) {
  return *std::min_element(domain.begin(), domain.end(), [&](std::int64_t a, std::int64_t b) {
    return std::llabs(a - wish) < std::llabs(b - wish);
  });
}

// Value of a technique in use where the strategy names none: its default, or "on" for a plain
// switch.
std::int64_t value_left_out(const TunableParameter& parameter) {
  if (const Technique* technique = find_technique(parameter.technique)) {
    for (const TechniqueParameter& row : technique->parameters) {
      if (row.name == parameter.name) return nearest_value(parameter.domain, row.fallback);
    }
  }
  for (const std::int64_t value : parameter.domain) {
    if (value != parameter.plain) return value;
  }
  return parameter.plain;
}

// "class.bf16": 1 when the task's contract is that class. nullopt: no such class.
std::optional<std::int64_t> class_name(const Task& task, std::string_view name) {
  std::string word(name.substr(6));
  std::replace(word.begin(), word.end(), '_', '-');
  const auto precision = precision_from(word);
  if (!precision) return std::nullopt;
  return *precision == task.precision ? 1 : 0;
}

}  // namespace

ExprScope task_class_scope(const Task& task) {
  return [&task, inner = task_scope(task, Workload{})](std::string_view name) -> ExprValue {
    if (!name.starts_with("class.")) return inner(name);
    if (const auto value = class_name(task, name)) return *value;
    return ExprFault{ExprFault::Kind::unknown_name, 1, fmt::format("unknown class {}", name)};
  };
}

bool serves(const Tunable& tunable, const Task& task) {
  const bool own =
      tunable.anchor.empty() || tunable.anchor == "matmul" || tunable.anchor == "weighted";
  if (tunable.family != task.family || !own) return false;
  const ExprScope scope = task_class_scope(task);
  return std::all_of(tunable.when.begin(), tunable.when.end(), [&](const Expr& expr) {
    const ExprValue value = evaluate(expr, scope);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number && *number != 0;
  });
}

Result<Constants> constants_for(const Tunable& tunable, const Task& task,
                                const Strategy& strategy) {
  Constants constants;
  for (const TunableParameter& parameter : tunable.parameters) {
    if (task.constants.contains(parameter.constant)) {
      return Error{ErrorCode::usage,
                   fmt::format("{}: parameter {} is also a constant of task {}", tunable.file,
                               parameter.constant, task.name),
                   "rename the parameter"};
    }
    const bool own = parameter.technique.empty();
    const Use* use = find_use(strategy, own ? tunable.name : parameter.technique);
    std::int64_t value = parameter.plain;
    if (use) {
      const auto given = use->values.find(parameter.name);
      if (given != use->values.end()) {
        value = given->second;
        if (std::count(parameter.domain.begin(), parameter.domain.end(), value) == 0) {
          return Error{ErrorCode::usage,
                       fmt::format("{}={} of {} is outside the domain of template {}",
                                   parameter.name, value, use->technique, tunable.name),
                       "choose a value of its domain"};
        }
      } else if (!own) {
        value = value_left_out(parameter);
      }
    }
    constants[parameter.constant] = value;
  }
  return constants;
}

std::optional<std::string> broken_restriction(const Tunable& tunable, const Task& task,
                                              const DeviceSpec& device,
                                              const Constants& constants) {
  const ExprScope outer = [&,
                           of_task = task_class_scope(task)](std::string_view name) -> ExprValue {
    if (name.starts_with("dev.")) return device_name(device, name);
    if (const auto at = constants.find(std::string(name)); at != constants.end()) return at->second;
    return of_task(name);
  };
  const ExprScope defined = tunable.let.empty() ? outer : scope_with(outer, tunable.let);
  for (const Expr& restriction : tunable.restrictions) {
    const ExprValue value = evaluate(restriction, defined);
    if (const auto* fault = std::get_if<ExprFault>(&value))
      return fmt::format("{}: {}", restriction.text, fault->message);
    if (std::get<std::int64_t>(value) == 0) return restriction.text;
  }
  const ExprScope scope = scope_with(outer, tunable.plan.let);
  return broken_limit(tunable, device, [&](const Expr& expr) {
    const ExprValue value = evaluate(expr, scope);
    const auto* number = std::get_if<std::int64_t>(&value);
    return number ? std::optional(*number) : std::nullopt;
  });
}

}  // namespace cupilot
