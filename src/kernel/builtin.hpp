// The built-in templates as read, with the first mistake when one does not parse: a test keeps that
// from happening.
#pragma once

#include <vector>

#include <cupilot/parts/tunable.hpp>

namespace cupilot {

Result<std::vector<Tunable>> parse_builtins();

}  // namespace cupilot
