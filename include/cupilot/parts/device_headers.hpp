// Headers that any kernel may include as "cupilot/NAME".
#pragma once

#include <string_view>

#include <cupilot/parts/export.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Text of the device header NAME ("types.cuh"), of those that ship: first those that all kernels
// share, then those of families. "": there is none. It guards itself against no second include.
std::string_view device_header(std::string_view name);

}  // namespace cupilot
CUPILOT_EXPORTS_END
