// Joins the terms of a model into a time, for any family and chip (docs/formats/time-model.md).
#pragma once

#include <array>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>

namespace cupilot {

// Values of a model's terms by ModelTerm: cycles, bytes and counts, no longer in 1/256.
struct ModelTerms {
  std::array<double, model_term_count> all{};
  std::vector<double> traits{};  // weighted log2, in the order of the model

  double operator[](ModelTerm term) const { return all[static_cast<std::size_t>(term)]; }
  double& operator[](ModelTerm term) { return all[static_cast<std::size_t>(term)]; }
};

struct ForecastTerms {
  double us = 0;                    // expected time
  std::vector<double> knobs{};      // knob_places
  std::vector<double> resources{};  // log2 of what each resource alone would need, and of how well
                                    // the machine is filled
};

ForecastTerms join_terms(const ModelTerms& terms, const JoinWeights& join,
                         const DeviceSpec& device);

}  // namespace cupilot
