// Answers about parts of a program: the task of each, its least and its expected time, its step of
// a library.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/kernel_source.hpp>

#include "program/composites.hpp"

namespace cupilot {

class PartForms {
 public:
  // All must outlive it. `seed`: of settings that are drawn for forecasts.
  PartForms(const ComposedTask& program, const Families& families, const Backend& backend,
            std::uint64_t seed);

  // Sets the content of edges, before the first question.
  void set_fills(EdgeFills fills) { fills_ = std::move(fills); }

  // The part's task; null: neither a template nor a library serves it.
  const PartTask* form_of(const Part& part);
  // Returns that of a part that was asked about before; null: it was not.
  const PartTask* known_form(const Part& part) const;
  // True of a part that a library alone computes.
  bool is_step_alone(const Part& part) const { return steps_alone_.contains(part); }
  // The part as a step of a library that the device has; nullopt: it is none. A virtual device has
  // no library.
  std::optional<KernelSource> step_of(const PartTask& form) const;

  // Microseconds that no kernel of the part falls below; half a launch among them.
  double floor_of(const Part& part);
  // Microseconds that the part's templates expect of their best setting among some that are drawn;
  // 0: they have no model.
  double forecast_of(const Part& part);
  // True of a part that depends on constants alone.
  bool is_prepared(const Part& part) const;
  // Counts the runs of a part in a program: the steps of its loop.
  std::int64_t times_of(const Part& part) const;

 private:
  const ComposedTask& program_;
  const Families& families_;
  const Backend& backend_;
  std::uint64_t seed_;
  std::vector<bool> prepared_;  // an operation: it depends on constants alone
  EdgeFills fills_;
  std::map<Part, std::optional<PartTask>> forms_;
  std::set<Part> steps_alone_;
  std::map<Part, double> forecasts_;
  std::map<std::string, double> forecasts_of_kinds_;
};

}  // namespace cupilot
