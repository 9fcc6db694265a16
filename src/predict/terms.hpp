// What a GEMM template's setting costs on each resource, by arithmetic from its constants.
#pragma once

#include <optional>
#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

struct ForecastTerms {
  double us = 0;                    // expected time
  std::vector<double> knobs{};      // knob_places
  std::vector<double> resources{};  // log2 of what each resource alone would need, and of how well
                                    // the machine is filled
};

// Place of each constant in its domain, 0 to 1.
std::vector<double> knob_places(const Tunable& tunable, const Constants& constants);

// At the first timed shape, without places. Nothing where the template is not modelled or has no
// such numbers.
std::optional<ForecastTerms> forecast_terms(const Tunable& tunable, const Constants& constants,
                                            const Task& task, const DeviceSpec& device);

}  // namespace cupilot
