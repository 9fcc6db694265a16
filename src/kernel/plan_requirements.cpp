#include "kernel/plan_requirements.hpp"

#include <algorithm>

#include <cupilot/parts/resolved_plan.hpp>

#include "kernel/plan_scope.hpp"

namespace cupilot {
namespace {

// Sizes that no constant of the task hides.
std::vector<std::string> axes_of(const Task& task) {
  std::vector<std::string> axes;
  for (const Axis& axis : task.axes) {
    if (!task.constants.contains(axis.name)) axes.push_back(axis.name);
  }
  return axes;
}

// A strategy's constants hide sizes: they come first.
std::vector<std::string> variables_of(const Constants& constants,
                                      const std::vector<std::string>& axes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : constants) names.push_back(name);
  names.insert(names.end(), axes.begin(), axes.end());
  return names;
}

Workload of_ones(const Task& task) {
  Workload all;
  for (const Axis& axis : task.axes) all.sizes[axis.name] = 1;
  return all;
}

}  // namespace

PlanRequirements::PlanRequirements(const KernelSource& source, const Task& task,
                                   const DeviceSpec& device)
    : source_(source),
      task_(task),
      device_(device),
      axes_(axes_of(task)),
      program_(source.plan, variables_of(source.constants, axes_), task, {}, device) {
  for (const auto& [name, value] : source.constants) constants_.push_back(value);
  for (const Expr& requirement : source.plan.require)
    requirements_.push_back(program_.add(requirement));
  const Workload ones = of_ones(task);
  const PlanScope scope(source.plan, source.constants, task, ones, device, nullptr);
  refused_ = hidden_name(source.plan, task, scope).has_value();
}

bool PlanRequirements::hold(const Workload& workload) const {
  const bool all = workload.sizes.size() == task_.axes.size() &&
                   std::all_of(task_.axes.begin(), task_.axes.end(), [&](const Axis& axis) {
                     return workload.sizes.contains(axis.name);
                   });
  if (!all) {
    const auto resolution = resolve(source_, task_, workload, device_, nullptr);
    return !resolution || std::holds_alternative<ResolvedPlan>(*resolution);
  }
  if (refused_) return true;
  std::vector<std::int64_t> values = constants_;
  for (const std::string& axis : axes_) values.push_back(workload.sizes.at(axis));
  for (const int requirement : requirements_) {
    const PlanProgram::Answer answer = program_.value(requirement, values);
    if (answer.is != PlanProgram::Answer::Is::number) return true;
    if (answer.number == 0) return false;
  }
  return true;
}

}  // namespace cupilot
