// A template's model at one shape on one device, made ready to be asked often.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

#include "kernel/plan_program.hpp"
#include "predict/join.hpp"

namespace cupilot {

// Any thread. The tunable has to have a model; nothing of the arguments has to outlive it.
class ModelProgram {
 public:
  ModelProgram(const Tunable& tunable, const Task& task, const Workload& shape,
               const DeviceSpec& device);
  // `values`: one a parameter of the tunable, in order. Nothing where a term has no value.
  std::optional<ModelTerms> terms(std::span<const std::int64_t> values) const;
  std::optional<ForecastTerms> forecast(std::span<const std::int64_t> values) const;

 private:
  DeviceSpec device_;
  JoinWeights join_;
  PlanProgram program_;
  std::vector<int> block_;   // threads, registers, shared_bytes, and resident where it is given
  std::vector<int> terms_;   // one a term, then traits
  std::vector<bool> given_;  // by term
  std::vector<double> trait_factors_;
};

// Values of a tunable's parameters, in order; plain where a constant is missing.
std::vector<std::int64_t> values_of(const Tunable& tunable, const Constants& constants);

// Place of each constant in its domain, 0 to 1.
std::vector<double> knob_places(const Tunable& tunable, const Constants& constants);

}  // namespace cupilot
