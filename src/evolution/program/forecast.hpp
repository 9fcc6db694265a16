// Forecast of a part's time before it is searched.
#pragma once

#include <cstdint>

#include <cupilot/family.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// Returns the least time, in microseconds, that the templates' models expect of settings drawn by
// `seed`; 0 where no template serves the task or none of them has a model.
double least_forecast_us(const Task& task, const DeviceSpec& device, const Families& families,
                         std::uint64_t seed);

}  // namespace cupilot
