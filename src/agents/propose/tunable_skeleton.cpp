#include "agents/propose/tunable_skeleton.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "agents/propose/starts.hpp"
#include "agents/propose/tunable_context.hpp"
#include "kernel/device_limits.hpp"
#include "kernel/plan_program.hpp"
#include "kernel/plan_scope.hpp"
#include "kernel/tunable_values.hpp"
#include "predict/estimate.hpp"

namespace cupilot {
namespace {

const std::string& technique_of(const Tunable& tunable, const TunableParameter& parameter) {
  return parameter.technique.empty() ? tunable.name : parameter.technique;
}

const Technique* row_of(const std::vector<Technique>& techniques, const std::string& name) {
  const auto found = std::find_if(techniques.begin(), techniques.end(),
                                  [&](const Technique& row) { return row.name == name; });
  return found == techniques.end() ? nullptr : &*found;
}

// A restriction that depends on these parameters alone.
Restriction restriction_on(const std::shared_ptr<const TunableContext>& context, std::string text,
                           const std::vector<std::size_t>& parameters,
                           std::function<bool(const Assignment&)> holds) {
  Restriction restriction{std::move(text), {}, {}, parameters.empty()};
  for (const std::size_t p : parameters) restriction.reads.push_back(context->sources[p].read);
  restriction.holds = std::move(holds);
  return restriction;
}

bool off_is_smallest(const TunableParameter& parameter) {
  return parameter.plain <= *std::min_element(parameter.domain.begin(), parameter.domain.end());
}

// Parameters of each technique of the tunable, in the order of first mention.
std::vector<std::pair<std::string, std::vector<std::size_t>>> by_technique(const Tunable& tunable) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t p = 0; p < tunable.parameters.size(); ++p) {
    const std::string& name = technique_of(tunable, tunable.parameters[p]);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->second.push_back(p);
  }
  return groups;
}

std::int64_t fallback_of(const Technique& row, const TunableParameter& parameter) {
  for (const TechniqueParameter& known : row.parameters) {
    if (known.name == parameter.name) return known.fallback;
  }
  return parameter.plain;
}

bool names_parameter(const Technique& row, const std::string& name) {
  return std::any_of(row.parameters.begin(), row.parameters.end(),
                     [&](const TechniqueParameter& known) { return known.name == name; });
}

// Adds knobs and sources of one technique.
void add_technique(const std::string& name, const std::vector<std::size_t>& parameters,
                   const std::vector<Technique>& techniques, TunableContext& context,
                   Skeleton& skeleton) {
  const Technique& row = *row_of(techniques, name);
  const Tunable& tunable = context.tunable;
  const bool forced = name == tunable.name ||
                      std::count(skeleton.required.begin(), skeleton.required.end(), name) != 0;
  const bool optional =
      !forced && std::all_of(parameters.begin(), parameters.end(),
                             [&](std::size_t p) { return off_is_smallest(tunable.parameters[p]); });
  auto& names = optional ? skeleton.available : skeleton.required;
  if (std::count(names.begin(), names.end(), name) == 0) names.push_back(name);
  for (const std::size_t p : parameters) {
    const TunableParameter& parameter = tunable.parameters[p];
    std::vector<std::int64_t> domain = parameter.domain;
    // Several parameters are off together or not at all, so each keeps its plain value.
    if (optional && parameters.size() == 1) std::erase(domain, parameter.plain);
    Source source{static_cast<std::size_t>(&row - techniques.data()), -1, parameter.plain,
                  parameter.plain, name};
    if (domain.empty()) domain = {parameter.plain};
    if (domain.size() == 1 && !names_parameter(row, parameter.name) &&
        !parameter.technique.empty()) {
      source.on = domain[0];
    } else {
      source.knob = static_cast<int>(skeleton.knobs.size());
      source.read = name + '.' + parameter.name;
      skeleton.knobs.push_back({name, parameter.name, domain, fallback_of(row, parameter)});
    }
    context.sources[p] = std::move(source);
  }
}

// In use with every parameter at plain is the same kernel as not in use, where a strategy may do
// without.
void forbid_idle(const std::shared_ptr<const TunableContext>& context, const std::string& technique,
                 const std::vector<std::size_t>& parameters, Skeleton& skeleton) {
  if (parameters.size() < 2 ||
      std::count(skeleton.required.begin(), skeleton.required.end(), technique) != 0)
    return;
  Restriction restriction{technique + " does something", {}, {}};
  for (const std::size_t p : parameters) restriction.reads.push_back(context->sources[p].read);
  restriction.holds = [context, parameters](const Assignment& assignment) {
    if (!assignment.present[context->sources[parameters[0]].technique]) return true;
    return std::any_of(parameters.begin(), parameters.end(), [&](std::size_t p) {
      return context->value(p, assignment) != context->sources[p].plain;
    });
  };
  skeleton.restrictions.push_back(std::move(restriction));
}

// Adds the needs of the techniques that the template names: it realises them, or it would not name
// the technique.
void require_needs(const Tunable& tunable, const std::vector<Technique>& techniques,
                   Skeleton& skeleton) {
  std::vector<std::string> named = skeleton.required;
  for (const TunableParameter& parameter : tunable.parameters)
    named.push_back(technique_of(tunable, parameter));
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Technique* row = row_of(techniques, named[i]);
    for (const std::string& need : row == nullptr ? std::vector<std::string>() : row->needs) {
      const bool plain_need = need.find_first_of("| ") == std::string::npos;
      if (!plain_need || std::count(named.begin(), named.end(), need) != 0) continue;
      named.push_back(need);
      skeleton.required.push_back(need);
    }
  }
}

void fix_names(TunableContext& context) {
  const ExprScope of_task = task_class_scope(context.task);
  for (const Expr& restriction : context.tunable.restrictions) {
    for (const std::string& name : names_through_lets(context.tunable.let, {&restriction})) {
      const bool defined = std::any_of(context.tunable.let.begin(), context.tunable.let.end(),
                                       [&](const auto& let) { return let.first == name; });
      if (context.moving.contains(name) || defined) continue;
      context.fixed.emplace(
          name, name.starts_with("dev.") ? device_name(context.device, name) : of_task(name));
    }
  }
}

void add_restrictions(const std::shared_ptr<const TunableContext>& context, Skeleton& skeleton) {
  for (const Expr& expr : context->tunable.restrictions) {
    skeleton.restrictions.push_back(
        restriction_on(context, expr.text,
                       parameters_in(*context, names_through_lets(context->tunable.let, {&expr})),
                       [context, expr](const Assignment& a) { return context->holds(expr, a); }));
  }
  const LaunchPlan& plan = context->tunable.plan;
  std::vector<const Expr*> texts = {&context->tunable.registers};
  for (const PlanLaunch& launch : plan.launches) {
    texts.push_back(&launch.shared);
    for (const Expr& side : launch.block) texts.push_back(&side);
  }
  const auto within_limits =
      [context, limits = DeviceLimits(context->limits, context->task, context->device)](
          const Assignment& a) { return limits.allow(context->values(a)); };
  skeleton.restrictions.push_back(
      restriction_on(context, "the device's limits on threads, registers and shared memory",
                     parameters_in(*context, names_through_lets(plan.let, texts)), within_limits));
}

// A plan that is "not for this shape" at a timed shape cannot win there.
void add_requirements(const std::shared_ptr<const TunableContext>& context, Skeleton& skeleton) {
  const LaunchPlan& plan = context->tunable.plan;
  for (const Expr& expr : plan.require) {
    std::vector<std::pair<PlanProgram, int>> shapes;
    for (const Workload& shape : context->task->time_shapes) {
      shapes.emplace_back(PlanProgram(plan, constant_names(context->tunable), context->task, shape,
                                      context->device),
                          0);
      shapes.back().second = shapes.back().first.add(expr);
    }
    const auto holds = [context, shapes = std::move(shapes)](const Assignment& assignment) {
      const std::vector<std::int64_t> values = context->values(assignment);
      return std::all_of(shapes.begin(), shapes.end(), [&](const auto& shape) {
        const PlanProgram::Answer answer = shape.first.value(shape.second, values);
        return answer.is == PlanProgram::Answer::Is::number
                   ? answer.number != 0
                   : answer.is == PlanProgram::Answer::Is::not_yet;
      });
    };
    skeleton.restrictions.push_back(
        restriction_on(context, "at every timed shape: " + expr.text,
                       parameters_in(*context, names_through_lets(plan.let, {&expr})), holds));
  }
}

void forbid_hopeless(const std::shared_ptr<const TunableContext>& context, Skeleton& skeleton) {
  const std::optional<double> least = least_time(context->tunable, context->task, context->device);
  if (!least) return;
  const TimeEstimate estimate(context->tunable, context->task, context->device);
  const auto bearable = [context, estimate,
                         most = most_bearable_us(*least)](const Assignment& assignment) {
    return estimate.at(context->values(assignment)).value_or(0) <= most;
  };
  const TunableModel& model = *context->tunable.model;
  NamedExprs lets = context->tunable.plan.let;
  for (const NamedExprs* more : {&context->tunable.let, &model.let})
    lets.insert(lets.end(), more->begin(), more->end());
  std::vector<const Expr*> texts;
  for (const auto& term : model.terms) {
    if (term) texts.push_back(&*term);
  }
  skeleton.restrictions.push_back(
      restriction_on(context, "by its own model near the best",
                     parameters_in(*context, names_through_lets(lets, texts)), bearable));
  skeleton.restrictions.back().advice = true;
}

}  // namespace

std::vector<Technique> own_techniques(const Tunable& tunable, const std::vector<Technique>& known) {
  std::vector<Technique> rows;
  const auto row_for = [&](const std::string& name) -> Technique* {
    if (row_of(known, name) != nullptr) return nullptr;
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const Technique& row) { return row.name == name; });
    if (found != rows.end()) return &*found;
    Technique row;
    row.name = name;
    row.summary = fmt::format("declared by tunable {}", tunable.name);
    row.sentence = fmt::format("Use what tunable {} calls {}{}{}.", tunable.name, name,
                               tunable.summary.empty() ? "" : ": ", tunable.summary);
    rows.push_back(std::move(row));
    return &rows.back();
  };
  for (const std::string& name : tunable.provides) row_for(name);
  for (const std::string& name : tunable.requires_techniques) row_for(name);
  for (const TunableParameter& parameter : tunable.parameters) {
    Technique* row = row_for(technique_of(tunable, parameter));
    // A default would become part of identities that have to outlive the tunable's file, so there
    // is none beside plain.
    if (row == nullptr) continue;
    row->parameters.push_back({parameter.name, parameter.domain, {}, parameter.plain});
    row->sentence += fmt::format(" {} sets {}.", parameter.name, parameter.constant);
  }
  return rows;
}

Skeleton tunable_skeleton(const Tunable& tunable, const TaskRef& task, const DeviceSpec& device,
                          const std::vector<Technique>& techniques) {
  Skeleton skeleton;
  skeleton.name = tunable.name;
  skeleton.only_these_knobs = true;
  skeleton.required = tunable.requires_techniques;
  // Realised whatever the parameters say.
  for (const std::string& name : tunable.provides) {
    if (std::count(skeleton.required.begin(), skeleton.required.end(), name) == 0)
      skeleton.required.push_back(name);
  }
  require_needs(tunable, techniques, skeleton);
  const auto context =
      std::make_shared<TunableContext>(TunableContext{tunable, tunable, task, device, {}, {}, {}});
  context->limits.restrictions.clear();
  context->limits.text.clear();
  context->sources.resize(tunable.parameters.size());
  for (std::size_t p = 0; p < tunable.parameters.size(); ++p)
    context->moving.emplace(tunable.parameters[p].constant, p);
  fix_names(*context);
  const auto groups = by_technique(tunable);
  for (const auto& [name, parameters] : groups)
    add_technique(name, parameters, techniques, *context, skeleton);
  choose_starts(*context, skeleton);
  skeleton.available.insert(skeleton.available.end(), skeleton.required.begin(),
                            skeleton.required.end());
  add_restrictions(context, skeleton);
  add_requirements(context, skeleton);
  forbid_hopeless(context, skeleton);
  for (const auto& [name, parameters] : groups) forbid_idle(context, name, parameters, skeleton);
  return skeleton;
}

}  // namespace cupilot
