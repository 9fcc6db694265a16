// The library's version.
#pragma once

#define CUPILOT_VERSION_MAJOR 0
#define CUPILOT_VERSION_MINOR 1
#define CUPILOT_VERSION_PATCH 0

namespace cupilot {
inline constexpr const char* version = "0.1.0";
}  // namespace cupilot
