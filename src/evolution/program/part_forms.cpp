#include "evolution/program/part_forms.hpp"

#include <algorithm>

#include "evolution/program/forecast.hpp"
#include "program/equal_parts.hpp"
#include "program/library_part.hpp"
#include "program/step_values.hpp"
#include "task/prepared.hpp"
#include "task/repeats.hpp"

namespace cupilot {

PartForms::PartForms(const ComposedTask& program, const Families& families, const Backend& backend,
                     std::uint64_t seed)
    : program_(program),
      families_(families),
      backend_(backend),
      seed_(seed),
      prepared_(prepared_operations(program.task)) {}

const PartTask* PartForms::form_of(const Part& part) {
  const auto known = forms_.find(part);
  if (known != forms_.end()) return known->second ? &*known->second : nullptr;
  auto form = served_part(program_, part, families_, fills_);
  auto& place = forms_[part];
  if (form) {
    place = std::move(*form);
  } else if (!backend_.traits().libraries.empty()) {
    place = step_alone(program_.task, part, families_, fills_);
    if (place && !step_of(*place)) place.reset();
    if (place) steps_alone_.insert(part);
  }
  return place ? &*place : nullptr;
}

const PartTask* PartForms::known_form(const Part& part) const {
  const auto known = forms_.find(part);
  return known != forms_.end() && known->second ? &*known->second : nullptr;
}

std::optional<KernelSource> PartForms::step_of(const PartTask& form) const {
  const std::vector<std::string>& known = backend_.traits().libraries;
  if (known.empty()) return std::nullopt;
  auto source = library_part(form.task, families_);
  const bool has =
      source && std::find(known.begin(), known.end(), source->template_name) != known.end();
  return has ? std::optional(std::move(*source)) : std::nullopt;
}

double PartForms::floor_of(const Part& part) {
  const PartTask* form = form_of(part);
  if (form == nullptr || form->only_views) return 0;
  const DeviceSpec& device = backend_.device();
  const auto floor =
      floor_us(form->task, form->task.time_shapes.front(), device, form->task.precision);
  return (floor ? *floor : 0) + 1e6 * device.launch_seconds / 2;
}

double PartForms::forecast_of(const Part& part) {
  const auto known = forecasts_.find(part);
  if (known != forecasts_.end()) return known->second;
  const PartTask* form = form_of(part);
  if (form == nullptr || form->only_views) return 0;
  const std::string kind = kind_of(*form, &program_.task);
  const auto alike = forecasts_of_kinds_.find(kind);
  const double us = !kind.empty() && alike != forecasts_of_kinds_.end()
                        ? alike->second
                        : least_forecast_us(form->task, backend_.device(), families_, seed_);
  forecasts_of_kinds_[kind] = us;
  return forecasts_[part] = us;
}

bool PartForms::is_prepared(const Part& part) const {
  return std::all_of(part.begin(), part.end(),
                     [&](int i) { return prepared_[static_cast<std::size_t>(i)]; });
}

std::int64_t PartForms::times_of(const Part& part) const {
  const Task& task = program_.task;
  const Operation& first = task.operations[static_cast<std::size_t>(part.front())];
  const Repeat* repeat = find_repeat(task, first.repeat);
  return repeat == nullptr ? 1 : fixed_count(task, *repeat).value_or(1);
}

}  // namespace cupilot
