#include "predict/model.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "kernel/expr_names.hpp"
#include "kernel/tunable_values.hpp"

namespace cupilot {
namespace {

constexpr double unit = 256;  // parts of a cycle or a round
constexpr const char* resident_name = "model.resident";

constexpr ModelTerm of_block[] = {ModelTerm::threads, ModelTerm::registers, ModelTerm::shared_bytes,
                                  ModelTerm::resident};

bool is_count_or_bytes(ModelTerm term) {
  switch (term) {
    case ModelTerm::rounds:
    case ModelTerm::math:
    case ModelTerm::issue:
    case ModelTerm::shared:
    case ModelTerm::fill:
    case ModelTerm::chain:
    case ModelTerm::latency:
    case ModelTerm::pace:
    case ModelTerm::ends:
    case ModelTerm::start:
      return false;
    default:
      return true;
  }
}

Expr default_of(ModelTerm term) {
  switch (term) {
    case ModelTerm::threads:
      return 32;
    case ModelTerm::rounds:
      return static_cast<int>(unit);
    case ModelTerm::launches:
      return 1;
    default:
      return 0;
  }
}

// Adds the classes that expressions name: 1 for the task's own, else 0.
void define_classes(const TunableModel& model, const Task& task, LaunchPlan& plan) {
  std::set<std::string> names;
  const auto add = [&](const Expr& expr) { names.merge(names_in(expr.text, false)); };
  for (const auto& [name, expr] : plan.let) add(expr);
  for (const auto& term : model.terms) {
    if (term) add(*term);
  }
  for (const auto& [name, expr] : model.traits) add(expr);
  const ExprScope classes = task_class_scope(task);
  for (const std::string& name : names) {
    if (!name.starts_with("class.")) continue;
    const ExprValue value = classes(name);
    if (const auto* number = std::get_if<std::int64_t>(&value))
      plan.let.emplace_back(name, Expr(*number));
  }
}

// The plan with everything that an expression of the model may name.
LaunchPlan with_definitions(const Tunable& tunable, const Task& task) {
  LaunchPlan plan = tunable.plan;
  const auto add = [&](const NamedExprs& lets) {
    for (const auto& let : lets) {
      const auto known = std::find_if(plan.let.begin(), plan.let.end(),
                                      [&](const auto& other) { return other.first == let.first; });
      if (known == plan.let.end()) plan.let.push_back(let);
    }
  };
  add(tunable.let);
  add(tunable.model->let);
  for (const auto& [name, value] : tunable.model->weights)
    plan.let.emplace_back("weight." + name, Expr(value));
  define_classes(*tunable.model, task, plan);
  return plan;
}

std::vector<std::string> variables_of(const Tunable& tunable) {
  std::vector<std::string> names = constant_names(tunable);
  names.emplace_back(resident_name);
  return names;
}

}  // namespace

ModelProgram::ModelProgram(const Tunable& tunable, const Task& task, const Workload& shape,
                           const DeviceSpec& device)
    : device_(device),
      join_(tunable.model->join),
      program_(with_definitions(tunable, task), variables_of(tunable), task, shape, device) {
  const TunableModel& model = *tunable.model;
  for (std::size_t i = 0; i < model_term_count; ++i) {
    given_.push_back(model.terms[i].has_value());
    const auto term = static_cast<ModelTerm>(i);
    terms_.push_back(program_.add(model.terms[i] ? *model.terms[i] : default_of(term)));
  }
  for (const ModelTerm term : of_block) block_.push_back(terms_[static_cast<std::size_t>(term)]);
  for (const auto& [name, expr] : model.traits) {
    terms_.push_back(program_.add(expr));
    const auto factor = model.trait_factors.find(name);
    trait_factors_.push_back(factor == model.trait_factors.end() ? 1 : factor->second);
  }
}

std::optional<ModelTerms> ModelProgram::terms(std::span<const std::int64_t> values) const {
  std::vector<std::int64_t> variables(values.begin(), values.end());
  variables.push_back(0);
  const auto block = program_.values(block_, variables);
  for (const PlanProgram::Answer& answer : block) {
    if (answer.is != PlanProgram::Answer::Is::number) return std::nullopt;
  }
  const auto small = [&](std::size_t i) {
    return static_cast<int>(std::clamp<std::int64_t>(block[i].number, 0, 1 << 30));
  };
  std::int64_t resident = block[3].number;
  if (!given_[static_cast<std::size_t>(ModelTerm::resident)])
    resident = resident_blocks(device_, small(0), small(1), block[2].number);
  variables.back() = std::max<std::int64_t>(1, resident);

  const auto answers = program_.values(terms_, variables);
  ModelTerms found;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].is != PlanProgram::Answer::Is::number) return std::nullopt;
    const double number = static_cast<double>(answers[i].number);
    if (i >= model_term_count) {
      found.traits.push_back(trait_factors_[i - model_term_count] *
                             std::log2(std::max(number / unit, 1.0 / 1024)));
      continue;
    }
    const bool plain = is_count_or_bytes(static_cast<ModelTerm>(i));
    found.all[i] = std::max(0.0, plain ? number : number / unit);
  }
  found[ModelTerm::resident] = static_cast<double>(variables.back());
  if (!given_[static_cast<std::size_t>(ModelTerm::items)])
    found[ModelTerm::items] = std::ceil(found[ModelTerm::blocks] / device_.sms);
  found[ModelTerm::items] = std::max(1.0, found[ModelTerm::items]);
  return found;
}

std::optional<ForecastTerms> ModelProgram::forecast(std::span<const std::int64_t> values) const {
  const auto found = terms(values);
  if (!found) return std::nullopt;
  ForecastTerms joint = join_terms(*found, join_, device_);
  if (!std::isfinite(joint.us) || joint.us <= 0) return std::nullopt;
  return joint;
}

std::vector<std::int64_t> values_of(const Tunable& tunable, const Constants& constants) {
  std::vector<std::int64_t> values;
  for (const TunableParameter& parameter : tunable.parameters) {
    const auto found = constants.find(parameter.constant);
    values.push_back(found == constants.end() ? parameter.plain : found->second);
  }
  return values;
}

std::vector<double> knob_places(const Tunable& tunable, const Constants& constants) {
  std::vector<double> places;
  const std::vector<std::int64_t> values = values_of(tunable, constants);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::int64_t> domain = tunable.parameters[i].domain;
    std::sort(domain.begin(), domain.end());
    const auto at = std::lower_bound(domain.begin(), domain.end(), values[i]) - domain.begin();
    places.push_back(
        domain.size() < 2 ? 0 : static_cast<double>(at) / static_cast<double>(domain.size() - 1));
  }
  return places;
}

}  // namespace cupilot
