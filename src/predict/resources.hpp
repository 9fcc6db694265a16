// Places of a kernel among resource terms: numbers that any kernel's counts have, of whatever
// family and with or without a template.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <cupilot/verdict.hpp>

namespace cupilot {

// Names of the coordinates, in order.
std::span<const std::string_view> resource_names();

// One number a coordinate, mostly log2. `time`: model_time() of the launches, of which there is at
// least one.
std::vector<double> resource_coordinates(const DeviceSpec& device,
                                         const std::vector<ModelInput>& launches,
                                         const ModelledTime& time);

}  // namespace cupilot
