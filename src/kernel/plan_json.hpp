// A launch plan as a JSON value, for the files that hold one inside another object.
#pragma once

#include "kernel/strict_json.hpp"

#include <cupilot/launch_plan.hpp>

namespace cupilot {

// `where` prefixes messages, such as "plan".
Result<LaunchPlan> plan_from(const Json& json, const std::string& where);
Json plan_to(const LaunchPlan& plan);

}  // namespace cupilot
