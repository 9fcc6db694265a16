// What reference values cost in the interpreter at the shapes of a task's battery.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <cupilot/parts/suite.hpp>
#include <cupilot/result.hpp>

namespace cupilot::bench {

// Makes the row of a task in a process of its own, on "virtual:CHIP". It holds seconds by the
// clock and of the processor of the reference values of one content over all shapes of a
// candidate's and of a finalist's battery, the dearest shape, and the peak resident memory.
Result<nlohmann::ordered_json> interpreted_row(const SuiteTask& row, const std::string& device);

}  // namespace cupilot::bench
