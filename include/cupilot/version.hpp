// The library's version.
#pragma once

#include <cupilot/parts/export.hpp>

#define CUPILOT_VERSION_MAJOR 0
#define CUPILOT_VERSION_MINOR 1
#define CUPILOT_VERSION_PATCH 0

CUPILOT_EXPORTS_BEGIN
namespace cupilot {
inline constexpr const char* version = "0.1.0";
}  // namespace cupilot
CUPILOT_EXPORTS_END
