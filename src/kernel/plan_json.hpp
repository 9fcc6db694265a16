// A launch plan as a JSON value, for the files that hold one inside another object.
#pragma once

#include <cupilot/parts/launch_plan.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

// `where`: of the value in its file, such as "plan".
LaunchPlan plan_from(JsonFaults& faults, const Json& json, const std::string& where);
Json plan_to(const LaunchPlan& plan);

// An identifier of C: what constants, buffers and launches may be called.
bool is_identifier(std::string_view word);
bool is_word(char c);  // a letter, a digit or '_'

}  // namespace cupilot
